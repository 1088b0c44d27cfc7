"""The sum of independent losses, each with its count."""

from __future__ import annotations

import math
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from quaestor.accounting.loss.engine.set_aside import Deficit, SetAside
from quaestor.accounting.loss.laws.law import Lattice
from quaestor.accounting.numerics.balls import outward, refined
from quaestor.accounting.numerics.certified_arithmetic import certified_arithmetic, rough_arithmetic
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["Product", "least_point"]

_MARGIN = 1.03  # times what is needed: large losses, so that a line serves epsilons nearby
_SMALL = 1e-3  # bounds on delta for which no other order is tried
_SMALLER, _LEAST_ORDER = 16.0, 1.0  # times, from one order to the next that is tried
_WIDEST_GAP = 100.0  # beyond this a lattice kernel overflows, and nothing needs it


class Product:
    """Independent losses added up: their log-moments add, count by count."""

    def __init__(self, laws: Iterable[tuple[Law, int]]) -> None:
        """Put losses of one kind together where their kind knows how."""
        kinds: defaultdict[type[Law], list[tuple[Law, int]]] = defaultdict(list)
        for law, count in laws:
            kinds[type(law)].append((law, count))
        self.terms = [term for kind, group in kinds.items() for term in kind.together(group)]
        self.moments_only = any(kind.known_by_moments_only for kind in kinds)
        self.aside: SetAside | None = None  # what was left out of it
        self._bests: dict[float, tuple[float, float]] = {}

    def then(self, laws: Iterable[tuple[Law, int]]) -> Product:
        """The same with more losses; the old terms are shared, not sorted again."""
        added = Product(laws)
        more = Product(())
        more.terms = [*self.terms, *added.terms]
        more.moments_only = self.moments_only or added.moments_only
        return more

    @property
    def can_be_truncated(self) -> bool:
        """Whether some of the losses have outcomes that are better left out."""
        return any(law.can_be_truncated for law, _ in self.terms)

    @property
    def different(self) -> int:
        """How many different losses there are."""
        return sum(law.different for law, _ in self.terms)

    @property
    def by_transform(self) -> bool:
        """Whether the moments on a line are a Fourier transform."""
        return any(law.by_transform for law, _ in self.terms)

    def truncated(
        self, lost: float, *, above: float = math.inf, deficit: Deficit | None = None
    ) -> Product:
        """The same without the rarest outcomes, which together have about this probability.

        Losses that make the sum exceed ``above`` are set aside, where that can be known: it fails
        with about the same probability, or with that of a ``deficit`` that is known already.
        """
        share = lost / max(len(self.terms), 1)
        if above == math.inf:
            deficit = Deficit(math.inf, 0.0)
        elif deficit is None:
            deficit = self.deficit(lost)
        large = _MARGIN * (above + deficit.most)
        shortened: list[tuple[Law, int]] = []
        with certified_arithmetic():
            for law, count in self.terms:
                parts = law.truncated(share / count, large) if law.can_be_truncated else [(law, 1)]
                shortened.extend((each, times * count) for each, times in parts)
            shorter = Product(shortened)
        shorter.moments_only = self.moments_only
        shorter.aside = SetAside.of(shorter.terms, deficit)
        return shorter

    def deficit(self, chance: float) -> Deficit:
        r"""By how much a sum of losses can be below 0, under the second hypothesis.

        Surely, or, by Chernoff's bound, but for this chance. Also a sum from which one is missing:
        :math:`\log E_Q[e^{-\theta L}] \ge 0` for each, as :math:`E_Q[L] \le 0`.
        """
        surely = Deficit(-self.least(), 0.0)
        opposite = Product(())
        for law, count in self.terms:
            if (other := law.reversed_loss()) is None:
                return surely
            opposite.terms.append((other, count))
        nats = -math.log(chance)
        with rough_arithmetic():  # only a choice
            theta = least_point(
                lambda thetas: (opposite.rough_log_moments(thetas) + nats) / thetas, ratio=1.1
            )
        try:
            value, error = opposite.log_moment(np.array([complex(theta)]))
        except (BeyondFloats, ValueError, MemoryError):
            return surely
        most = float(value.real[0] + error[0] + nats) / theta * (1 + 1e-12)
        return Deficit(most, chance * (1 + 1e-12)) if most < surely.most else surely

    def log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        """The log-moment at points of one vertical line, and a bound on each one's error."""
        return self._added_up([law.log_moment(s) for law, _ in self.terms], s)

    def nominal_log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        """The same for the losses and masses as they are written: see ``blur`` and ``doubt``."""
        return self._added_up([law.nominal_log_moment(s) for law, _ in self.terms], s)

    def _added_up(
        self, moments: list[tuple[Complexes, Floats]], s: Complexes
    ) -> tuple[Complexes, Floats]:
        """One term after another, which rounds each sum on the way: a unit for every term."""
        values, errors = np.zeros(s.shape, np.complex128), np.zeros(s.shape)
        sizes = np.zeros(s.shape)
        with certified_arithmetic():
            for (_, count), (value, error) in zip(self.terms, moments, strict=True):
                values += count * value
                errors += count * error
                sizes += count * np.abs(value)
            errors += UNIT * (len(self.terms) + 2) * sizes
        return values, errors * (1 + UNIT * (len(self.terms) + 4))

    def blur(self) -> float:
        """How far a sum of losses can be off, beyond rounding."""
        return sum(count * law.blur for law, count in self.terms) * (1 + 1e-12)

    def doubt(self) -> float:
        r"""By how many nats the mass of a sum of losses can be off, beyond rounding.

        Also that masses sum to 1 only within their doubt d, where :math:`M-1` is summed: that is
        one more atom without a loss, whose mass is at most d.
        """
        shares = ((min(2 * law.doubt, 1.0), count) for law, count in self.terms if law.doubt)
        return sum(
            count * -math.log1p(-share) if share < 0.5 else math.inf for share, count in shares
        ) * (1 + 1e-12)

    def rough_log_moments(self, thetas: Floats) -> Floats:
        """Estimates of the log-moment on the real axis; infinite where it overflows."""
        values = np.zeros(thetas.shape)
        with rough_arithmetic():
            for law, count in self.terms:
                values += count * law.rough_log_moments(thetas)
        return np.where(np.isfinite(values), values, np.inf)

    def rough_log_moment(self, theta: float) -> float:
        """The same at one theta."""
        return float(self.rough_log_moments(np.array([theta]))[0])

    def work(self, count: int, step: float) -> float:
        """About how many exponentials ``count`` nodes cost."""
        return sum(law.work(count, step) for law, _ in self.terms)

    def effort(self, theta: float, count: int, step: float) -> float:
        """The same for the line through theta, as exactly as is known."""
        return sum(law.effort(theta, count, step) for law, _ in self.terms)

    def gaussian_variance(self) -> float:
        """The variance of the Gaussians among the terms: what decays for good, and smooths."""
        return sum(law.gaussian_variance * count for law, count in self.terms) * (1 - 1e-3)

    def closed_form(self) -> Callable[[float], Bounds] | None:
        """The profile of one loss alone, where its law knows it; None otherwise."""
        if self.moments_only or len(self.terms) != 1:
            return None
        law, count = self.terms[0]
        curve = law.curve(count)
        if curve is None:
            return None
        return lambda epsilon: outward(refined(lambda _: curve(arb(epsilon)))).clipped(0.0, 1.0)

    def largest(self) -> float:
        """The largest finite loss there can be."""
        return sum(count * law.largest for law, count in self.terms) * (1 + 1e-12)

    def least(self) -> float:
        """At most the least loss there can be."""
        return sum(count * law.least for law, count in self.terms) * (1 + 1e-12)

    def typical_loss(self) -> float:
        """The mean of the sum, roughly."""
        reach = 1e-3
        while math.isinf(moment := self.rough_log_moment(reach)):  # moments may end before
            reach /= 8
            if reach < 1e-30:
                raise BeyondFloats("the moments are beyond floats")
        gap = 1e-2 * reach / max(1.0, moment / reach)
        above, below = self.rough_log_moments(np.array([gap, -gap]))
        return float(above - below) / (2 * gap)

    def typical_epsilon(self, delta: float) -> float:
        """The epsilon of the moment bound at ``delta``: a little more than the truth."""
        return self._best_bound(delta)[1]

    def best_order(self, *, delta: float | None = None, epsilon: float | None = None) -> float:
        """About the order at which the moment bound is least, at a delta or else an epsilon."""
        if delta is not None:
            return self._best_bound(delta)[0]
        with rough_arithmetic():
            return least_point(self._delta_bound(epsilon or 0.0), ratio=1.2)

    def closest_order(self, *, delta: float | None = None, epsilon: float | None = None) -> float:
        """The same, and closely."""
        bound = self._delta_bound(epsilon or 0.0) if delta is None else self._epsilon_bound(delta)
        with rough_arithmetic():
            return least_point(bound, ratio=1.0005)

    def _best_bound(self, delta: float) -> tuple[float, float]:
        """The best order for a delta, about, and the epsilon there: asked for by several."""
        if delta not in self._bests:
            bound = self._epsilon_bound(delta)
            with rough_arithmetic():
                theta = least_point(bound, ratio=1.2)
                self._bests[delta] = theta, max(float(bound(np.array([theta]))[0]), 1e-12)
        return self._bests[delta]

    def _epsilon_bound(self, delta: float) -> Callable[[Floats], Floats]:
        nats = -math.log(max(delta, 5e-324))
        return lambda thetas: (self.rough_log_moments(thetas) + nats + conversion(thetas)) / thetas

    def _delta_bound(self, epsilon: float) -> Callable[[Floats], Floats]:
        return lambda thetas: self.rough_log_moments(thetas) - thetas * epsilon + conversion(thetas)

    def moment_delta(self, epsilon: float) -> float:
        """The moment bound on delta, certified: every order is sound, so any will do."""
        with rough_arithmetic():  # only a choice, by estimates that may be wrong at large orders
            order = least_point(self._delta_bound(epsilon), ratio=1.001)
        best = 1.0
        while True:
            bound = 1.0
            with suppress(BeyondFloats, ValueError, MemoryError):
                value, error = self.log_moment(np.array([complex(order)]))
                if np.isfinite(value[0]) and np.isfinite(error[0]):
                    bound = _moment_bound(order, epsilon, float(value.real[0]), float(error[0]))
            if bound < _SMALL or bound > best or order < _LEAST_ORDER:
                return min(bound, best)
            best, order = bound, order / _SMALLER

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """Lower bounds on minus the log of the normalised modulus, block by block."""
        falls = np.zeros(low.shape)
        with certified_arithmetic():
            for law, count in self.terms:
                falls += count * law.decay(theta, low, high)
        return falls * (1 - 1e-12)

    def lattice(self) -> Lattice | None:
        """The lattice on which the sum lives, if one gap serves all terms."""
        offset, gap = 0.0, None
        for law, count in self.terms:
            lattice = law.lattice
            if lattice is None or lattice.gap > _WIDEST_GAP or lattice.gap != (gap or lattice.gap):
                return None
            offset, gap = offset + count * lattice.offset, lattice.gap
        return None if gap is None else Lattice(offset, gap)


def _moment_bound(order: float, epsilon: float, log_moment: float, error: float) -> float:
    """The bound on delta by the moment of one order."""
    nats = log_moment + error - order * epsilon + float(conversion(np.array([order]))[0])
    doubt = 1e-13 * (1 + abs(nats) + abs(log_moment) + order * epsilon)
    if not math.isfinite(nats + doubt):
        return 1.0
    return min(math.exp(min(max(nats + doubt, -700.0), 1.0)), 1.0)  # not less than floats hold


def conversion(orders: Floats) -> Floats:
    """The factor by which (1 - e^-x)_+ is less than e^(order x), in nats [KOV, inequality (20)]."""
    return -orders * np.log1p(1 / orders) - np.log1p(orders)


def least_point(function: Callable[[Floats], Floats], *, ratio: float) -> float:
    """Where a function that falls and then rises is least, to a factor ``ratio``.

    Asked of many places at once, because that costs hardly more than one.
    """
    ladder = np.asarray(4.0 ** np.arange(-8, 11), np.float64)
    for _ in range(4):
        lowest = _lowest(function, ladder)
        further = ladder * 4.0 ** (-16 if lowest == 0 else 16)
        if 0 < lowest < ladder.size - 1 or not 1e-30 < further[0] < 1e24:
            break
        ladder = further
    middle, factor = float(ladder[min(lowest, ladder.size - 1)]), 4.0
    while factor > ratio:
        grid = np.asarray(middle * factor ** np.linspace(-1.0, 1.0, 9), np.float64)
        middle = float(grid[_lowest(function, grid)])
        factor **= 0.25
    return middle


def _lowest(function: Callable[[Floats], Floats], places: Floats) -> int:
    heights = function(places)
    return int(np.argmin(np.where(np.isnan(heights), np.inf, heights)))
