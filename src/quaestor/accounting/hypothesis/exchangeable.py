r"""Equal databases, and priors that know only how many: exact by counting.

With k databases, each of which one :math:`\varepsilon`-DP black box was asked about, and a prior
that treats all sets of one size alike, the number j of answers "in" is all that matters. Given m
memberships its generating function is :math:`(s x + \bar s)^m (\bar s x + s)^{k-m}`, with
:math:`s = 1/(1+e^{-\varepsilon})`. All coefficients are positive and computed in balls.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, arb_poly

from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.hypothesis.outcomes import Outcomes
from quaestor.accounting.numerics.atoms import UNIT
from quaestor.accounting.numerics.balls import ZERO, outward, rational, working_precision
from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.hypothesis.outcomes import Floats
    from quaestor.accounting.hypothesis.priors import Weights

__all__ = ["WithFailures", "counted"]

_MOST_WORK = 3_000_000  # coefficients times sizes
_ENOUGH_BITS = 60


def counted(epsilon: float, count: int, null: Weights, alternative: Weights) -> Outcomes | None:
    """The first law of the number of memberships against the second; None if that is too much."""
    if count * (len(null) + len(alternative)) > _MOST_WORK or count * epsilon > 250.0:
        return None
    first, second = (_masses(epsilon, count, prior) for prior in (null, alternative))
    return Outcomes(first, second, error=8 * UNIT, reach=count * epsilon * (1 + 1e-12))


def _masses(epsilon: float, count: int, prior: Weights) -> Floats:
    bits = 128 + int(count * (2 + 1.5 * epsilon))  # enough for the smallest coefficient
    masses = _coefficients(epsilon, count, prior, bits)
    while min(mass.rel_accuracy_bits() for mass in masses) < _ENOUGH_BITS:
        bits *= 2
        masses = _coefficients(epsilon, count, prior, bits)
    return np.array([float(mass) for mass in masses])


def _coefficients(epsilon: float, count: int, prior: Weights, bits: int) -> list[arb]:
    """Horner's rule in both polynomials at once; no coefficient is zero."""
    with working_precision(bits):
        truth = 1 / (1 + (-arb(epsilon)).exp())
        lie = (-arb(epsilon)).exp() * truth
        inside, outside = arb_poly([lie, truth]), arb_poly([truth, lie])
        total, others = arb_poly([rational(prior.get(count, Fraction(0)))]), arb_poly([1])
        for size in range(count - 1, -1, -1):
            others = others * outside
            total = total * inside
            if size in prior:
                total = total + others * rational(prior[size])
        return list(total.coeffs())


class WithFailures(Profile):
    r"""Equal databases with (epsilon, delta)-DP boxes, from the pure ones.

    With probability :math:`F = 1-(1-\delta)^k`, whatever the memberships are, some box names the
    person's part in its database. If then everything is known, the total is at most
    :math:`\delta_{pure} + (1-\delta_{pure})F`; if nothing is made of it, at least
    :math:`(1-F)\,\delta_{pure}`.
    """

    def __init__(self, pure: Profile, *, delta: float, count: int) -> None:
        """Keep the pure curve and the probability of a failure."""
        self.pure = pure
        with working_precision(128):
            self._kept = (count * (-arb(delta)).log1p()).exp() if delta < 1.0 else ZERO

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Between the pure curve that was not interrupted and the pure curve or a failure."""
        with working_precision(128):
            pure = self.pure.delta_bounds(epsilon=epsilon)
            return Bounds(
                lower=max(outward(self._kept * arb(pure.lower)).lower, 0.0),
                upper=min(outward(1 - self._kept * (1 - arb(pure.upper))).upper, 1.0),
            )

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """The pure curve's, at what is left of delta and at what delta may have grown to."""
        with working_precision(128):
            left = outward(1 - (1 - arb(delta)) / self._kept).lower if self._kept > 0 else -1.0
            grown = outward(arb(delta) / self._kept).upper if self._kept > 0 else 1.0
        if delta >= 1.0:
            return Bounds.exactly(0.0)
        lower = self.pure.epsilon_bounds(delta=min(grown, 1.0)).lower
        upper = self.pure.epsilon_bounds(delta=left).upper if left >= 0.0 else math.inf
        return Bounds(lower=lower, upper=max(lower, upper))

    def supports(self, at_most: int) -> Sequence[float]:
        """Those of the pure curve."""
        return self.pure.supports(at_most)
