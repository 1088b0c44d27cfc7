"""The optimal composition theorem for equal black boxes, exact for every epsilon and any count."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.numerics.balls import (
    ZERO,
    between,
    outward,
    rational,
    refined,
    working_precision,
)
from quaestor.accounting.numerics.binomial import lower_tail, upper_tail
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.theorems.black_box_profile import BlackBoxProfile
from quaestor.accounting.theorems.black_boxes import BlackBoxes
from quaestor.errors import TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.releases import Release

__all__ = ["RandomizedResponsePower", "optimal_homogeneous"]

_NEWTON_STEPS = 60


def optimal_homogeneous(releases: Iterable[Release]) -> RandomizedResponsePower:
    r"""The least (epsilon, delta) that holds for every composition of equal epsilons.

    Theorem:
        Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy", Theorem 3.3.
        Stated there at :math:`\varepsilon_g = (k-2i)\varepsilon`; between those points the curve
        is linear in :math:`e^{\varepsilon_g}` and this is exact there too:

        .. math:: \delta(\varepsilon_g) = 1 - \prod_i (1-\delta_i)\,\bigl(1 -
            F(m; k, s(-\varepsilon)) + e^{\varepsilon_g} F(m; k, s(\varepsilon))\bigr)

        with F the binomial distribution function, s the logistic function, and m the largest l
        with :math:`(k-2l)\varepsilon > \varepsilon_g`. The deltas may differ; the epsilons that
        are not zero must not.

    Assumes:
        The epsilons and deltas are fixed in advance; the mechanisms may be chosen adaptively.

    >>> from quaestor.accounting.releases import PureDP
    >>> two = optimal_homogeneous([PureDP(epsilon=math.log(3)) * 2])
    >>> 0.5 in two.delta_bounds(epsilon=0.0).widened(ulps=2)  # by hand: (9 - 1) / 16
    True
    """
    boxes = BlackBoxes.of(releases)
    if len(boxes.responses) > 1:
        raise TheoremDoesNotApply(
            f"needs equal epsilons; there are {len(boxes.responses)} different ones"
        )
    return RandomizedResponsePower(boxes)


class RandomizedResponsePower(BlackBoxProfile):
    """The k-th power of randomized response: all there is to know about equal black boxes.

    The test "at most m lies" has detection probability ``F(m; k, s(-epsilon))`` and false alarm
    ``F(m; k, s(epsilon))``; these k + 2 tests (m = -1 to k) are the corners of the region, and
    every quantity below is read off the right one of them.
    """

    def __init__(self, boxes: BlackBoxes) -> None:
        """Take the single group of ``boxes``."""
        super().__init__(boxes)
        self.epsilon, self.count = boxes.responses[0] if boxes.responses else (0.0, 0)

    def _detection(self, threshold: int, bits: int) -> arb:
        return lower_tail(count=self.count, threshold=threshold, logit=self.epsilon, bits=bits)

    def _false_alarm(self, threshold: int, bits: int) -> arb:
        return lower_tail(count=self.count, threshold=threshold, logit=-self.epsilon, bits=bits)

    def _threshold(self, epsilon: float | Fraction) -> int:
        """The best test against e^epsilon: the largest m with (k - 2m) times ours above it."""
        best = math.ceil((self.count - Fraction(epsilon) / Fraction(self.epsilon)) / 2) - 1
        return min(max(best, -1), self.count)

    def _pure_delta(self, epsilon: float) -> arb:
        return refined(lambda bits: self.pure_curve(Fraction(epsilon), bits))

    def pure_curve(self, epsilon: Fraction, bits: int) -> arb:
        """Enclose the pure part at an epsilon of either sign, aiming at ``bits`` bits."""
        threshold = self._threshold(epsilon)
        detection = self._detection(threshold, bits)
        return detection - rational(epsilon).exp() * self._false_alarm(threshold, bits)

    def _pure_epsilon(self, slack: arb) -> Bounds:
        r"""Solve for epsilon exactly.

        Test m demands :math:`\varepsilon_g \ge e_m = \log((detection - slack)/false alarm)`; the
        answer is the largest demand. If the best test at the largest demand found is among those
        asked, then no other test demands more, and the answer is exact.
        """
        with working_precision(256):
            demands: dict[int, arb] = {}
            start = self._threshold(self._newton_guess(slack))
            wanted = {self._first_that_detects_more(slack, start)}
            while wanted:
                for threshold in wanted:
                    demands[threshold] = self._demand(threshold, slack)
                largest = reduce(arb.max, demands.values())
                answer = outward(largest).clipped(0.0, self.total_epsilon.upper)
                first, last = self._threshold(answer.upper), self._threshold(answer.lower)
                wanted = set(range(max(first, 0), last + 1)) - demands.keys()
        return answer

    def _first_that_detects_more(self, slack: arb, start: int) -> int:
        """The strictest test from ``start`` on that demands anything; laxer ones detect more."""
        if self._detects_more_than(slack, start):
            return start
        low, high = start, max(self.count // 2, start + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._detects_more_than(slack, middle) else (middle, high)
        return high

    def _detects_more_than(self, slack: arb, threshold: int) -> bool:
        return threshold >= self.count // 2 or bool(self._detection(threshold, 64) > slack)

    def _demand(self, threshold: int, slack: arb) -> arb:
        def demand(bits: int) -> arb:
            excess = self._detection(threshold, bits) - slack
            if not excess > 0:
                return ZERO if excess < 0 else between(ZERO, arb(self.total_epsilon.upper))
            return (excess / self._false_alarm(threshold, bits)).log()

        return refined(demand)

    def _newton_guess(self, slack: arb) -> float:
        """Newton's method on log delta, from the typical epsilon; only ever a guess."""
        aim = float(slack.mid().log())
        low, high = 0.0, math.nextafter(self.total_epsilon.lower, 0.0)
        guess = min(self.boxes.typical_epsilon(float(slack.mid())), high)
        for _ in range(_NEWTON_STEPS):
            threshold = self._threshold(guess)
            delta = self._pure_delta(guess).mid()
            miss = float(delta.log()) - aim if delta > 0 else -math.inf
            if abs(miss) < 0.25 or high - low <= 2 * self.epsilon:
                break
            low, high = (guess, high) if miss > 0 else (low, guess)
            fall = float(arb(guess).exp() * self._false_alarm(threshold, 64).mid() / delta)
            guess += miss / fall if fall > 0 else math.inf
            if not low < guess < high:
                guess = (low + high) / 2
        return guess

    def supports(self, at_most: int) -> Sequence[float]:
        """The corners' own epsilons where they are few, an even spread where they are many."""
        steps = self.count // 2
        if steps < at_most:
            return [float((self.count - 2 * i) * self.epsilon) for i in range(steps, -1, -1)]
        return super().supports(at_most)

    def exact_false_negative(self, false_positive: float) -> Bounds | None:
        """Walk along the edge between the two corners on either side of ``false_positive``."""
        failure = self.boxes.failure()
        if failure == 1 or self.count == 0:
            return outward(1 - failure - false_positive).clipped(0.0, 1.0)
        with working_precision(192):
            alarm = arb(false_positive) / (1 - failure)
            if alarm >= 1:
                return Bounds.exactly(0.0)
            low, high = -1, self.count  # corners left of the point, and right of it or unsure
            while high - low > 1:
                middle = (low + high) // 2
                if self._false_alarm(middle, 64) < alarm:
                    low = middle
                else:
                    high = middle
            edges = [self._edge(high, alarm)]
            if high < self.count and not self._false_alarm(high, 64) > alarm:
                edges.append(self._edge(high + 1, alarm))
            boundary = edges[0] if len(edges) == 1 else between(*edges)
            return outward(boundary * (1 - failure)).clipped(0.0, 1.0)

    def _edge(self, threshold: int, alarm: arb) -> arb:
        """The line that ends in corner ``threshold``, of slope -exp((k - 2 threshold) epsilon)."""
        missed = upper_tail(count=self.count, threshold=threshold, logit=self.epsilon, bits=128)
        steepness = (arb(self.epsilon) * (self.count - 2 * threshold)).exp()
        return missed + steepness * (self._false_alarm(threshold, 128) - alarm)
