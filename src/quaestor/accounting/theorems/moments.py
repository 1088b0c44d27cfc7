"""The moment bound: one Chernoff argument, optimised, for any number of any black boxes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.numerics.balls import ONE, ZERO, outward
from quaestor.accounting.theorems.black_boxes import BlackBoxes
from quaestor.accounting.theorems.points import FormulaProfile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.releases import Release

__all__ = ["MomentProfile", "moments"]

_GOLDEN = (math.sqrt(5) - 1) / 2


def moments(releases: Iterable[Release]) -> MomentProfile:
    r"""The exponential-moment bound behind the closed forms, at its best order.

    Theorem:
        Kairouz, Oh, Viswanath, inequality (22), kept before the paper simplifies it: for every
        :math:`\lambda > 0`,

        .. math:: \delta_{pure}(\varepsilon) \le \exp\Bigl(\sum_i \ln\bigl(s(\varepsilon_i)
            e^{\lambda\varepsilon_i} + s(-\varepsilon_i)e^{-\lambda\varepsilon_i}\bigr) -
            \lambda\varepsilon + \lambda\ln\lambda - (\lambda+1)\ln(\lambda+1)\Bigr).

        Every order is sound, so the search for the best one need not be exact.

    >>> from quaestor.accounting.releases import PureDP
    >>> 2.3458 < moments([PureDP(epsilon=0.1) * 30]).epsilon_bounds(delta=1e-6).upper < 2.5
    True
    """
    return MomentProfile(BlackBoxes.of(releases))


class MomentProfile(FormulaProfile):
    """The moment bound of a history of black boxes."""

    def _exponent(self, order: arb) -> arb:
        """The logarithm of the bound at epsilon 0."""
        steps = ((arb(epsilon), count) for epsilon, count in self.boxes.responses)
        moment = sum(
            (
                (epsilon * order - (-epsilon).exp().log1p() + _lie(epsilon, order)) * count
                for epsilon, count in steps
            ),
            ZERO,
        )
        return moment + order * order.log() - (order + 1) * (order + 1).log()

    def _rough_exponent(self, order: float) -> float:
        moment = sum(
            count
            * (
                epsilon * order
                - math.log1p(math.exp(-epsilon))
                + math.log1p(math.exp(-epsilon - 2 * order * epsilon))
            )
            for epsilon, count in self.boxes.responses
        )
        return moment + order * math.log(order) - (order + 1) * math.log(order + 1)

    def _epsilon_at(self, slack: arb) -> arb:
        if not self.boxes.responses:
            return ZERO
        nats = float(slack.mid().log())
        order = arb(_best_order(lambda order: (self._rough_exponent(order) - nats) / order))
        return self.boxes.total_epsilon().min((self._exponent(order) - slack.log()) / order)

    def _slack_at(self, epsilon: arb) -> arb:
        if epsilon >= self.boxes.total_epsilon():
            return ZERO
        aim = float(epsilon)
        order = arb(_best_order(lambda order: self._rough_exponent(order) - order * aim))
        return ONE.min((self._exponent(order) - order * epsilon).exp())

    def _slack_of(self, delta: float) -> arb:
        return self.boxes.slack(delta)

    def _total(self, slack: arb) -> arb:
        return slack + (1 - slack) * self.boxes.failure()

    def _epsilon_without_slack(self) -> Bounds:
        return outward(self.boxes.total_epsilon())


def _lie(epsilon: arb, order: arb) -> arb:
    return (-epsilon - 2 * order * epsilon).exp().log1p()


def _best_order(bound: Callable[[float], float]) -> float:
    """Golden-section search over the logarithm of the order, from 1e-9 to 1e15."""
    low, high = math.log(1e-9), math.log(1e15)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = bound(math.exp(left)), bound(math.exp(right))
    while high - low > 1e-7:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = bound(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = bound(math.exp(right))
    return math.exp((low + high) / 2)
