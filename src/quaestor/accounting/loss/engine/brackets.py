"""Few releases: a sum of losses between two sums on a lattice, one that tells less and one more.

A line through few losses with atoms hardly falls off, so that it takes many nodes, and each of them
many exponentials. On a lattice it has an end, and one Fourier transform gives all of its nodes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.loss.engine.integral import planned
from quaestor.accounting.loss.engine.lattice_line import LatticeLine
from quaestor.accounting.loss.engine.loss_sum import Product
from quaestor.accounting.loss.engine.rare_outcomes import is_quick
from quaestor.accounting.loss.engine.set_aside import Deficit, SetAside
from quaestor.accounting.loss.laws.lattices.bracket import lowered, raised
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.certified_arithmetic import certified_arithmetic
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.loss.laws.lattices.bracket import Bracket

__all__ = ["Brackets", "LinePair"]

_RARE = 1e-9  # of delta: what is left to rounding, or lost
_LEAST = 1e-296  # of probabilities that are told from 0
_FEW_GAPS = 400.0  # from 0 to epsilon, at first
_FINER, _FINEST = 2.0, 16.0  # times as many, when they were too few
_MARGIN = 1.3  # times as many as seem to be needed
_MOST_PAIRS = 8
_BETTER, _CHEAP_NODES = 0.02, 20_000  # times the width, and where that costs little
_NEAR = 0.1  # relative, in epsilon: where a pair was drawn for about the right place
_LARGEST_STEP = 30.0  # times less, if nothing is known from below
_SMALL = 0.05  # nats
_MOST_TRIALS = 1024  # of gaps, for one that fits
_FITS = 1e-3  # of a gap, in all
_VERY_FEW, _MOST_RELEASES = 24, 1000


class LinePair(NamedTuple):
    """A line through losses that tell less, and one through losses that tell more."""

    less: LatticeLine
    more: LatticeLine
    gap: float

    def delta(self, epsilon: float) -> Bounds:
        """Enclose the delta of the losses between."""
        lower, upper = self.less.delta(epsilon).lower, self.more.delta(epsilon).upper
        return Bounds(lower=min(lower, upper), upper=upper)


class Brackets:
    """A sum of losses, each of which knows two laws with atoms around it."""

    def __init__(self, product: Product, *, width: float) -> None:
        """Keep the sum; the width is relative, in epsilon or in delta."""
        self.product, self._width = product, width
        self._count = sum(times for _, times in product.terms)

    @classmethod
    def of(cls, product: Product, *, width: float) -> Brackets | None:
        """The brackets of few losses that have them; None for others."""
        few = sum(count for _, count in product.terms) <= _MOST_RELEASES
        known = all(law.least_gap < math.inf for law, _ in product.terms)
        return cls(product, width=width) if few and known and product.terms else None

    def are_best(self, epsilon: float) -> bool:
        """Whether they answer better than a line, which suits a sum of many losses."""
        return self._count <= _VERY_FEW or not is_quick(self.product, epsilon, width=self._width)

    def satisfy(self, found: Bounds, *, width: float) -> bool:
        """Whether no line is to be asked besides.

        Of many losses with atoms further apart than the gap a line may say more.
        """
        smooth = self._count <= _VERY_FEW or all(
            law.listed() is None for law, _ in self.product.terms
        )
        return found.relative_width <= (width if smooth else self._width * 5 * _BETTER)

    def delta(self, epsilon: float) -> Bounds:
        """Enclose delta, as closely as the width asks for if so many gaps do."""
        found, gaps, last = Bounds(lower=0.0, upper=1.0), _FEW_GAPS, math.inf
        delta = max(min(self.product.moment_delta(epsilon), 1.0), _LEAST)
        length = max(epsilon, self._spread())
        for _ in range(_MOST_PAIRS):
            try:
                pair = self._pair(epsilon, gap=length / gaps, delta=delta)
            except (ArithmeticError, ValueError, MemoryError):
                break
            found = found.intersection(pair.delta(epsilon))
            if self._suffices(found, pair):
                break
            if found.upper < delta / _LARGEST_STEP:
                delta = max(found.upper, _LEAST)
                continue
            if not pair.gap < last:
                break
            last, gaps = pair.gap, gaps * self._finer(found)
        return found

    def epsilon(
        self, solved: Callable[[LinePair, float], Bounds], *, delta: float, largest: float
    ) -> Bounds:
        """Enclose the epsilon of a delta; ``solved`` inverts the curve of a pair near a guess."""
        found, gaps, last = Bounds(lower=0.0, upper=largest), _FEW_GAPS, math.inf
        guess = min(self.product.typical_epsilon(delta), largest)
        for _ in range(_MOST_PAIRS):
            try:
                pair = self._pair(guess, gap=guess / gaps, delta=delta)
            except (ArithmeticError, ValueError, MemoryError):
                break
            found = found.intersection(solved(pair, guess))
            if self._suffices(found, pair) or found.upper == 0.0:
                break
            drawn, guess = guess, (found.lower + found.upper) / 2
            if found.lower == 0.0:
                guess = max(guess, drawn / _LARGEST_STEP)
            if abs(drawn - guess) < _NEAR * drawn:
                if not pair.gap < last:
                    break
                last, gaps = pair.gap, gaps * self._finer(found)
        return found

    def _spread(self) -> float:
        """About the deviation of the sum, which is a length that matters next to 0."""
        theta = _SMALL / self.product.largest()
        below, at, above = self.product.rough_log_moments(np.array([-theta, 0.0, theta]))
        return math.sqrt(max(float(below + above - 2 * at), 0.0)) / theta

    def _suffices(self, found: Bounds, pair: LinePair) -> bool:
        """Whether this is as narrow as asked for; where that is cheap, even narrower."""
        cheap = pair.less.nodes.size <= _CHEAP_NODES
        return found.relative_width <= self._width * (_BETTER if cheap else 1.0)

    def _finer(self, found: Bounds) -> float:
        """How many times as many gaps are needed: what is open falls with their square."""
        aim = self._width if found.relative_width > self._width else self._width * _BETTER
        wanted = _MARGIN * math.sqrt(found.relative_width / aim)
        return min(max(wanted, _FINER), _FINEST)

    def _pair(self, epsilon: float, *, gap: float, delta: float) -> LinePair:
        """Two lines for an epsilon."""
        terms, lost = self.product.terms, delta * _RARE
        gap = _fitted(
            max(gap, *(law.least_gap for law, _ in terms)), [law.span for law, _ in terms]
        )
        less, more = Product(()), Product(())
        with certified_arithmetic():
            for law, count in terms:
                bracket = law.bracket(gap / 2, lost / count / len(terms))
                if bracket is None:
                    raise BeyondFloats("the loss has no brackets")
                anchor = _anchor(bracket)
                less.terms.append((lowered(bracket, anchor, gap), count))
                more.terms.append((raised(bracket, anchor, gap), count))
        for each in (less, more):
            each.aside = SetAside.of(each.terms, Deficit(math.inf, 0.0)).losing(lost)
        with certified_arithmetic():  # what suits the one suits the other
            plan = planned(less, epsilon, width=self._width)
            similar = planned(more, epsilon, width=self._width, point=plan.point)
        return LinePair(LatticeLine.along(less, plan), LatticeLine.along(more, similar), gap)


def _fitted(gap: float, spans: list[float]) -> float:
    """About this gap, or less, so that many spans are about whole numbers of it."""
    apart = np.array([span for span in spans if span > 2 * gap])
    if not apart.size:
        return gap
    least = math.ceil(float(np.max(apart)) / gap)
    gaps = float(np.max(apart)) / np.arange(least, least + max(least // 2, 1))[:_MOST_TRIALS]
    turns = apart[:, None] / gaps
    misfits = np.sum(np.abs(turns - np.round(turns)), axis=0)
    return float(gaps[np.argmin(misfits > np.min(misfits) + _FITS)])


def _anchor(bracket: Bracket) -> float:
    """The loss of the heaviest atom."""
    atoms = bracket.less
    return float(atoms.losses[atoms.masses.argmax()])
