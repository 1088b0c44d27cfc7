"""Advanced composition of Dwork, Rothblum and Vadhan, the theorem most software still uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.numerics.balls import ONE, ZERO
from quaestor.accounting.theorems.black_boxes import BlackBoxes
from quaestor.accounting.theorems.points import FormulaProfile
from quaestor.errors import TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.releases import Release

__all__ = ["advanced"]


def advanced(releases: Iterable[Release]) -> FormulaProfile:
    r"""The square-root law, in its first form.

    Theorem:
        Dwork, Rothblum, Vadhan 2010, Theorem III.3; Kairouz, Oh, Viswanath, Theorem 3.2: k equal
        :math:`(\varepsilon, \delta)`-DP releases are :math:`(\tilde\varepsilon,
        k\delta+\tilde\delta)`-DP with :math:`\tilde\varepsilon = k\varepsilon(e^\varepsilon-1) +
        \varepsilon\sqrt{2k\ln(1/\tilde\delta)}`.

    >>> from quaestor.accounting.releases import PureDP
    >>> round(advanced([PureDP(epsilon=0.1) * 30]).epsilon_bounds(delta=1e-2).upper, 6)
    1.977771
    """
    boxes = BlackBoxes.of(releases)
    if len(boxes.steps) > 1:
        raise TheoremDoesNotApply(
            f"needs equal releases; there are {len(boxes.steps)} different ones"
        )
    return _Advanced(boxes)


class _Advanced(FormulaProfile):
    def _mean(self) -> arb:
        steps = ((arb(epsilon), count) for epsilon, count in self.boxes.responses)
        return sum((epsilon * epsilon.expm1() * count for epsilon, count in steps), ZERO)

    def _square(self) -> arb:
        return sum((arb(epsilon) ** 2 * count for epsilon, count in self.boxes.responses), ZERO)

    def _epsilon_at(self, slack: arb) -> arb:
        return self._mean() + (2 * self._square() * (-slack.log()).nonnegative_part()).sqrt()

    def _slack_at(self, epsilon: arb) -> arb:
        above = epsilon - self._mean()
        if not self.boxes.responses:
            return ZERO
        if not above > 0:
            return ONE
        return (-(above**2) / (2 * self._square())).exp()

    def _slack_of(self, delta: float) -> arb:
        return delta - self.boxes.total_delta()

    def _total(self, slack: arb) -> arb:
        return self.boxes.total_delta() + slack
