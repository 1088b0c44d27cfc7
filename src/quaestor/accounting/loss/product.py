"""The sum of independent losses, each with its count."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.complexes import UNIT
from quaestor.accounting.loss.gaussian import GaussianLoss
from quaestor.accounting.loss.law import Lattice
from quaestor.accounting.loss.responses import Responses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from quaestor.accounting.loss.complexes import Complexes, Floats
    from quaestor.accounting.loss.law import Law

__all__ = ["Product", "least_point"]

_WIDEST_GAP = 100.0  # beyond this a lattice kernel overflows, and nothing needs it


class Product:
    """Independent losses added up: their log-moments add, count by count."""

    def __init__(self, laws: Iterable[tuple[Law, int]]) -> None:
        """Put randomized responses into one array and Gaussians into one; keep the others apart."""
        responses: Counter[float] = Counter()
        variances: list[float] = []
        self.terms: list[tuple[Law, int]] = []
        self.moments_only = False
        for law, count in laws:
            if isinstance(law, Responses):
                for epsilon, times in zip(law.epsilons, law.counts, strict=True):
                    responses[float(epsilon)] += int(times) * count
            elif isinstance(law, GaussianLoss):
                variances.append(law.mu * law.mu * count)
                self.moments_only = self.moments_only or law.known_by_moments_only
            else:
                self.terms.append((law, count))
        del responses[0.0]
        if responses:
            epsilons = np.array(list(responses), np.float64)
            counts = np.array(list(responses.values()), np.float64)
            self.terms.append((Responses(epsilons, counts), 1))
        variance = math.fsum(variances)  # exact, so that many Gaussians round no worse than one
        if variance > 0.0:
            self.terms.append((GaussianLoss(math.sqrt(variance)), 1))

    def then(self, laws: Iterable[tuple[Law, int]]) -> Product:
        """The same with more losses; the old terms are shared, not sorted again."""
        added = Product(laws)
        more = Product(())
        more.terms = [*self.terms, *added.terms]
        more.moments_only = self.moments_only or added.moments_only
        return more

    def log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        """The log-moment at points of one vertical line, and a bound on each one's error."""
        values, errors = np.zeros(s.shape, np.complex128), np.zeros(s.shape)
        for law, count in self.terms:
            value, error = law.log_moment(s)
            values += count * value
            errors += count * error + 2 * UNIT * count * np.abs(value)
        return values, errors

    def rough_log_moment(self, theta: float) -> float:
        """An estimate of the log-moment on the real axis; infinite where it overflows."""
        with np.errstate(all="ignore"):
            value = sum(count * law.rough_log_moment(theta) for law, count in self.terms)
        return value if math.isfinite(value) else math.inf

    def work(self, count: int, step: float) -> float:
        """About how many exponentials ``count`` nodes cost."""
        return sum(law.work(count, step) for law, _ in self.terms)

    def gaussian_variance(self) -> float:
        """The variance of the Gaussians among the terms: what decays for good, and smooths."""
        gaussians = ((law, n) for law, n in self.terms if isinstance(law, GaussianLoss))
        return sum(law.mu * law.mu * count for law, count in gaussians) * (1 - 1e-3)

    def largest(self) -> float:
        """The largest finite loss there can be."""
        return math.fsum(count * law.largest for law, count in self.terms) * (1 + 1e-12)

    def typical_loss(self) -> float:
        """The mean of the sum, roughly."""
        gap = 1e-5 / max(1.0, self.rough_log_moment(1e-3) * 1e3)
        return (self.rough_log_moment(gap) - self.rough_log_moment(-gap)) / (2 * gap)

    def typical_epsilon(self, delta: float) -> float:
        """The epsilon of the moment bound at ``delta``: a little more than the truth."""
        nats = -math.log(max(delta, 5e-324))

        def bound(theta: float) -> float:
            return (self.rough_log_moment(theta) + nats + conversion(theta)) / theta

        return max(bound(least_point(bound, ratio=1.2)), 1e-12)

    def moment_delta(self, epsilon: float) -> float:
        """The moment bound on delta, certified: every order is sound, so any will do."""

        def bound(theta: float) -> float:
            return self.rough_log_moment(theta) - theta * epsilon + conversion(theta)

        order = least_point(bound, ratio=1.001)
        try:
            with np.errstate(all="ignore"):
                value, error = self.log_moment(np.array([complex(order)]))
        except (OverflowError, ValueError):
            return 1.0
        if not (np.isfinite(value[0]) and np.isfinite(error[0])):
            return 1.0
        nats = float(value.real[0] + error[0]) - order * epsilon + conversion(order)
        doubt = 1e-13 * (1 + abs(nats) + order * epsilon)
        return min(
            math.exp(min(max(nats + doubt, -700.0), 1.0)), 1.0
        )  # never less than floats hold

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """Lower bounds on minus the log of the normalised modulus, block by block."""
        falls = np.zeros(low.shape)
        for law, count in self.terms:
            falls += count * law.decay(theta, low, high)
        return falls

    def lattice(self) -> Lattice | None:
        """The lattice on which the sum lives, if one gap serves all terms."""
        offset, gap = 0.0, None
        for law, count in self.terms:
            lattice = law.lattice
            if isinstance(law, Responses) and law.epsilons.size == 1:
                epsilon, times = float(law.epsilons[0]), float(law.counts[0])
                lattice = Lattice(epsilon * times, 2 * epsilon)
            if lattice is None or lattice.gap > _WIDEST_GAP or lattice.gap != (gap or lattice.gap):
                return None
            offset, gap = offset + count * lattice.offset, lattice.gap
        return None if gap is None else Lattice(offset, gap)


def conversion(order: float) -> float:
    """The factor by which (1 - e^-x)_+ is less than e^(order x), in nats [KOV, inequality (20)]."""
    return order * math.log(order) - (order + 1) * math.log1p(order)


def least_point(function: Callable[[float], float], *, ratio: float) -> float:
    """Where a function that falls and then rises is least, to a factor ``ratio``."""
    middle, factor = 1.0, 4.0
    at_middle = function(middle)
    for _ in range(400):
        lower, higher = function(middle / factor), function(middle * factor)
        if lower < at_middle:
            middle, at_middle = middle / factor, lower
        elif higher < at_middle:
            middle, at_middle = middle * factor, higher
        else:
            factor = math.sqrt(factor)
            if factor < ratio:
                break
        if not 1e-9 < middle < 1e12:
            break
    return middle
