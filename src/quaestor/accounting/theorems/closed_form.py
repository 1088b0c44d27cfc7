"""The closed forms of Kairouz, Oh and Viswanath: weaker than the optimum, good for thinking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.numerics.balls import ONE, ZERO, outward
from quaestor.accounting.theorems.black_boxes import BlackBoxes
from quaestor.accounting.theorems.points import FormulaProfile
from quaestor.errors import TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.releases import Release

__all__ = ["closed_form_heterogeneous", "closed_form_homogeneous"]


def closed_form_homogeneous(releases: Iterable[Release]) -> FormulaProfile:
    r"""The square-root law with a better logarithm, for equal releases.

    Theorem:
        Kairouz, Oh, Viswanath, Theorem 3.4: k equal releases are :math:`(\tilde\varepsilon,
        1-(1-\delta)^k(1-\tilde\delta))`-DP, where :math:`\tilde\varepsilon` is the least of
        :math:`k\varepsilon`, :math:`a + \varepsilon\sqrt{2k\ln(e+\varepsilon\sqrt
        k/\tilde\delta)}` and :math:`a + \varepsilon\sqrt{2k\ln(1/\tilde\delta)}`, with
        :math:`a = k\varepsilon\tanh(\varepsilon/2)`. The paper's simplification
        :math:`a \le k\varepsilon^2` for small epsilon is not used: :math:`a \le
        k\varepsilon^2/2` holds always.

    >>> from quaestor.accounting.releases import PureDP
    >>> thirty = closed_form_homogeneous([PureDP(epsilon=0.1) * 30])
    >>> round(thirty.epsilon_bounds(delta=1e-6).upper, 6)
    2.965566
    """
    boxes = BlackBoxes.of(releases)
    if len(boxes.steps) > 1:
        raise TheoremDoesNotApply(
            f"needs equal releases; there are {len(boxes.steps)} different ones"
        )
    return _ClosedForm(boxes)


def closed_form_heterogeneous(releases: Iterable[Release]) -> FormulaProfile:
    r"""The square-root law with a better logarithm, for any black boxes.

    Theorem:
        Kairouz, Oh, Viswanath, Theorem 3.5: as Theorem 3.4, with :math:`a =
        \sum\varepsilon_i\tanh(\varepsilon_i/2)` and :math:`\sqrt{\sum\varepsilon_i^2}` in place
        of :math:`\varepsilon\sqrt k`.

    >>> from quaestor.accounting.releases import PureDP
    >>> curve = closed_form_heterogeneous([PureDP(epsilon=e) for e in (0.1, 0.2, 0.3)])
    >>> curve.epsilon_bounds(delta=1e-6).upper <= 0.6 + 1e-15
    True
    """
    return _ClosedForm(BlackBoxes.of(releases))


class _ClosedForm(FormulaProfile):
    def _mean(self) -> arb:
        steps = ((arb(epsilon), count) for epsilon, count in self.boxes.responses)
        return sum((epsilon * (epsilon / 2).tanh() * count for epsilon, count in steps), ZERO)

    def _square(self) -> arb:
        return sum((arb(epsilon) ** 2 * count for epsilon, count in self.boxes.responses), ZERO)

    def _epsilon_at(self, slack: arb) -> arb:
        square = self._square()
        improved = (arb.const_e() + square.sqrt() / slack).log()
        logarithm = improved.min((-slack.log()).nonnegative_part())
        return self.boxes.total_epsilon().min(self._mean() + (2 * square * logarithm).sqrt())

    def _slack_at(self, epsilon: arb) -> arb:
        if epsilon >= self.boxes.total_epsilon():
            return ZERO
        above, square = epsilon - self._mean(), self._square()
        if not above > 0:
            return ONE
        rise = (above**2 / (2 * square)).exp()
        beyond = rise - arb.const_e()
        return (1 / rise).min(square.sqrt() / beyond) if beyond > 0 else 1 / rise

    def _slack_of(self, delta: float) -> arb:
        return self.boxes.slack(delta)

    def _total(self, slack: arb) -> arb:
        failure = self.boxes.failure()
        return slack + (1 - slack) * failure

    def _epsilon_without_slack(self) -> Bounds:
        return outward(self.boxes.total_epsilon())
