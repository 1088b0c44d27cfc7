"""Closed forms for bounded-range releases, of any ranges and chosen adaptively.

All assume that the ranges are fixed in advance; the
queries may depend on the answers before them.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from flint import arb, ctx

from quaestor.accounting.numerics.balls import ONE, ZERO, outward, working_precision
from quaestor.accounting.releases import counts_of
from quaestor.accounting.releases.range_moments import log_moment, log_moment_ball
from quaestor.accounting.theorems.black_boxes import BlackBoxes
from quaestor.accounting.theorems.moments import MomentProfile
from quaestor.accounting.theorems.points import FormulaProfile
from quaestor.errors import TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.releases import Release

__all__ = [
    "durfee_rogers",
    "has_range",
    "log_moment",
    "optimal_divergence",
    "range_moments",
    "ranges_of",
    "sharp_range_moments",
]

Ranges = tuple[tuple[float, int], ...]


def ranges_of(releases: Iterable[Release]) -> Ranges:
    """The ranges of bounded-range releases with their counts, largest first.

    >>> from quaestor.accounting.releases import BoundedRange, ExponentialMechanism
    >>> half = ExponentialMechanism(epsilon=1.0, monotonic=True)
    >>> ranges_of([BoundedRange(epsilon=0.5) * 3, half])
    ((0.5, 4),)
    """
    counts: Counter[float] = Counter()
    for single, count in counts_of(releases).items():
        if single.range_epsilon is None:
            raise TheoremDoesNotApply(
                f"applies to releases of bounded range only, not to {type(single).__name__}"
            )
        counts[single.range_epsilon] += count
    return tuple(sorted(counts.items(), reverse=True))


def has_range(release: Release) -> bool:
    """Whether a release is known by its range."""
    return release.counted()[0].range_epsilon is not None


def durfee_rogers(releases: Iterable[Release]) -> FormulaProfile:
    r"""The first composition theorem for bounded range.

    Theorem:
        Durfee, Rogers 2019, as Dong, Durfee, Rogers 2020 plot it ("DR19"), taken from the
        literature and not proved again: :math:`\varepsilon_g = \min\{\sum\varepsilon_i,\
        \sum\varepsilon_i\tanh(\varepsilon_i/2) + \sqrt{\tfrac12\sum\varepsilon_i^2
        \ln(1/\delta)}\}`.

    >>> from quaestor.accounting.releases import BoundedRange
    >>> chosen = [BoundedRange(epsilon=0.1) * 100]
    >>> round(durfee_rogers(chosen).epsilon_bounds(delta=1e-6).upper, 6)
    3.127845
    """
    return _DurfeeRogers(BlackBoxes.pure(ranges_of(releases)))


def optimal_divergence(releases: Iterable[Release]) -> FormulaProfile:
    r"""The same with the largest divergence that a range allows.

    Theorem:
        Dong, Durfee, Rogers 2020, Proposition 4 ("OptKL"): as :func:`durfee_rogers`, with
        :math:`x_i - 1 - \ln x_i`, :math:`x_i = \varepsilon_i/(1-e^{-\varepsilon_i})`, in place of
        :math:`\varepsilon_i\tanh(\varepsilon_i/2)`.

    >>> from quaestor.accounting.releases import BoundedRange
    >>> chosen = [BoundedRange(epsilon=0.1) * 100]
    >>> 2.6 < optimal_divergence(chosen).epsilon_bounds(delta=1e-6).upper < 2.8
    True
    """
    return _OptimalDivergence(BlackBoxes.pure(ranges_of(releases)))


def range_moments(releases: Iterable[Release]) -> MomentProfile:
    r"""The exponential-moment bound for bounded range, as printed.

    Theorem:
        Dong, Durfee, Rogers 2020, Theorem 5 ("MGF"): :math:`\delta \le \inf_{\lambda>0}
        \exp(\sum_i h(\lambda; \varepsilon_i) - \lambda\varepsilon_g)`, with h from
        ``log_moment``. Every order is sound, so the search for the best need not be exact.

    >>> from quaestor.accounting.releases import BoundedRange
    >>> chosen = [BoundedRange(epsilon=0.1) * 100]
    >>> round(range_moments(chosen).epsilon_bounds(delta=1e-6).upper, 6)
    2.72863
    """
    return _RangeMoments(BlackBoxes.pure(ranges_of(releases)))


def sharp_range_moments(releases: Iterable[Release]) -> MomentProfile:
    r"""The exponential-moment bound for bounded range with the factor that comes for free.

    Theorem:
        Dong, Durfee, Rogers 2020, Theorem 5, with :math:`(1-e^{-x})_+ \le
        \frac{\lambda^\lambda}{(1+\lambda)^{1+\lambda}} e^{\lambda x}` [Kairouz, Oh, Viswanath,
        inequality (20)] in place of :math:`(1-e^{-x})_+ \le e^{\lambda x}`.

    >>> from quaestor.accounting.releases import BoundedRange
    >>> chosen = [BoundedRange(epsilon=0.1) * 100]
    >>> round(sharp_range_moments(chosen).epsilon_bounds(delta=1e-6).upper, 6)
    2.400199
    """
    return _SharpRangeMoments(BlackBoxes.pure(ranges_of(releases)))


class _DurfeeRogers(FormulaProfile):
    def _mean(self) -> arb:
        terms = (arb(e) * (arb(e) / 2).tanh() * count for e, count in self.boxes.responses)
        return sum(terms, ZERO)

    def _square(self) -> arb:
        return sum((arb(e) ** 2 * count for e, count in self.boxes.responses), ZERO)

    def _epsilon_at(self, slack: arb) -> arb:
        spread = (self._square() / 2 * (-slack.log()).nonnegative_part()).sqrt()
        return self.boxes.total_epsilon().min(self._mean() + spread)

    def _slack_at(self, epsilon: arb) -> arb:
        if epsilon >= self.boxes.total_epsilon():
            return ZERO
        above = epsilon - self._mean()
        return (-2 * above**2 / self._square()).exp() if above > 0 else ONE

    def _slack_of(self, delta: float) -> arb:
        return arb(delta)

    def _total(self, slack: arb) -> arb:
        return slack

    def _epsilon_without_slack(self) -> Bounds:
        return outward(self.boxes.total_epsilon())


class _OptimalDivergence(_DurfeeRogers):
    def _mean(self) -> arb:
        return sum((_divergence(e) * count for e, count in self.boxes.responses), ZERO)


def _divergence(epsilon: float) -> arb:
    with working_precision(ctx.prec + min(-min(math.frexp(epsilon)[1], 0) * 2, 1500)):
        x = arb(epsilon) / -(-arb(epsilon)).expm1()
        return (x - 1 - x.log()).nonnegative_part()


class _RangeMoments(MomentProfile):
    def _exponent(self, order: arb) -> arb:
        return sum((log_moment_ball(order, e) * count for e, count in self.boxes.responses), ZERO)

    def _rough_exponent(self, order: float) -> float:
        return sum(_rough_moment(order, e) * count for e, count in self.boxes.responses)


class _SharpRangeMoments(_RangeMoments):
    def _exponent(self, order: arb) -> arb:
        factor = order * order.log() - (order + 1) * (order + 1).log()
        return super()._exponent(order) + factor

    def _rough_exponent(self, order: float) -> float:
        factor = order * math.log(order) - (order + 1) * math.log1p(order)
        return super()._rough_exponent(order) + factor


def _rough_moment(order: float, epsilon: float) -> float:
    """The log-moment in floats, for the search only."""

    def bend(z: float) -> float:
        return z + math.log(-math.expm1(-2 * z) / (2 * z))

    if (order + 1) * epsilon < 1e-2:
        return order * (order + 1) * epsilon**2 / 8
    half = epsilon / 2
    return (order + 1) * bend((order + 1) * half) - order * bend(order * half) - bend(half)
