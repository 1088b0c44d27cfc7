"""Equal bounded-range releases whose queries are all chosen in advance: the exact optimum."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.curves.epsilon_search import step_out
from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.numerics.balls import (
    ONE,
    ZERO,
    between,
    outward,
    refined,
    working_precision,
)
from quaestor.accounting.numerics.binomial import lower_tail
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.ranges.best_tests import contenders, likely_test

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NonAdaptiveRange"]

_ZERO = Bounds.exactly(0.0)
_NEWTON_STEPS = 60


class NonAdaptiveRange(Profile):
    r"""The least delta that holds for ``count`` releases of range ``epsilon``, fixed in advance.

    Theorem:
        Dong, Durfee, Rogers, "Optimal Differential Privacy Composition for Exponential
        Mechanisms" (2020), Theorem 2, with the paper's inner maximum solved: every release is at
        worst a choice between the losses t (with probability :math:`q_t = (1-e^{t-\varepsilon})/
        (1-e^{-\varepsilon})`) and :math:`t-\varepsilon`, and all t are equal. The test "at most l
        losses are the lower one" gains :math:`g_l(t) = F(l; k, 1-q_t) - e^{\varepsilon_g} F(l; k,
        1-p_t)`, :math:`p_t = e^{-t}q_t`, which is largest at :math:`t_l = (\varepsilon_g +
        (l+1)\varepsilon)/(k+1)`. The answer is the largest gain over l. In log-odds the two
        binomials are :math:`\varepsilon` apart.

    Assumes:
        Queries are fixed before the first answer. *Unsound if they are chosen adaptively.*

    >>> four = NonAdaptiveRange(count=4, epsilon=1.0)
    >>> round(four.delta_bounds(epsilon=1.0).upper, 10)
    0.1452537674
    """

    def __init__(self, *, count: int, epsilon: float) -> None:
        """Take ``count`` releases, each of range ``epsilon`` > 0."""
        self.count, self.epsilon = count, epsilon
        with working_precision(128):
            self.total_epsilon = outward(arb(epsilon) * count)
        self._delta = lru_cache(maxsize=256)(self._delta_at)

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the optimum at ``epsilon``."""
        return self._delta(epsilon)

    def _delta_at(self, epsilon: float) -> Bounds:
        if epsilon >= self.total_epsilon.upper:
            return _ZERO
        tests, complete = contenders(count=self.count, epsilon=self.epsilon, at=epsilon)
        gains = [outward(refined(partial(self._gain, test, epsilon))) for test in tests]
        lower = max((gain.lower for gain in gains), default=0.0)
        upper = max((gain.upper for gain in gains), default=0.0) if complete else 1.0
        return Bounds(lower=lower, upper=upper).clipped(0.0, 1.0)

    def _tails(self, test: int, epsilon: float, bits: int) -> tuple[arb, arb]:
        """The two binomials at the test's own best t."""
        with working_precision(bits + self.count.bit_length() + 40):
            place = (arb(epsilon) + arb(self.epsilon) * (test + 1)) / (self.count + 1)
            above = self.epsilon - place
            if not above > 0:
                return between(ZERO, ONE), ZERO
            logit = place + (above.expm1() / place.expm1()).log()
            detection = lower_tail(count=self.count, threshold=test, logit=logit, bits=bits)
            false_alarm = lower_tail(
                count=self.count, threshold=test, logit=logit - self.epsilon, bits=bits
            )
        return detection, false_alarm

    def _gain(self, test: int, epsilon: float, bits: int) -> arb:
        detection, false_alarm = self._tails(test, epsilon, bits)
        return detection - arb(epsilon).exp() * false_alarm

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon at which the optimum is at most ``delta``."""
        if delta >= 1.0 or self.delta_bounds(epsilon=0.0).upper <= delta:
            return _ZERO
        if delta == 0.0:
            return self.total_epsilon
        low, high = step_out(
            lambda epsilon: self.delta_bounds(epsilon=epsilon),
            Bounds.exactly(delta),
            self._newton_guess(delta),
            self.total_epsilon.upper,
        )
        return Bounds(lower=low, upper=high)

    def _newton_guess(self, delta: float) -> float:
        """Newton's method on the log of the likely best test's gain; only ever a guess."""
        aim, half = math.log(delta), self.epsilon / 2
        low, high = 0.0, math.nextafter(self.total_epsilon.lower, 0.0)
        guess = self.count * half * math.tanh(half / 2) + half * math.sqrt(-2 * self.count * aim)
        if not low < guess < high:
            guess = high / 2
        best: int | None = None  # the very best test, once the guess is good enough to know it
        for _ in range(_NEWTON_STEPS):
            test = best
            if test is None:
                test = likely_test(count=self.count, epsilon=self.epsilon, at=guess)
            with working_precision(192):
                detection, false_alarm = self._tails(test, guess, 64)
                missed = arb(guess).exp() * false_alarm
                gain = detection - missed
                miss = float(gain.log()) - aim if gain > 0 else -math.inf
                fall = float(missed / gain) if gain > 0 else 0.0
            low, high = (guess, high) if miss > 0 else (low, guess)
            better = guess + miss / fall if fall > 0 else -math.inf
            if best is None and abs(better - guess) <= 1e-9 * guess:
                low, high = 0.0, math.nextafter(self.total_epsilon.lower, 0.0)
                best = self._best_test(min(max(better, low), high))
            elif abs(better - guess) <= 1e-14 * guess:
                return better
            guess = better if low < better < high else (low + high) / 2
        return guess

    def _best_test(self, epsilon: float) -> int:
        tests, _ = contenders(count=self.count, epsilon=self.epsilon, at=epsilon)
        if len(tests) < 2:
            return tests[0]
        return max(tests, key=lambda test: outward(self._gain(test, epsilon, 128)).lower)

    def supports(self, at_most: int) -> Sequence[float]:
        """Evenly spread epsilons, up to where a delta of 1e-12 is reached."""
        largest = self.epsilon_bounds(delta=1e-12).upper
        gaps = max(at_most - 2, 1)
        spread = (largest * i / gaps for i in range(gaps + 1))
        return [*spread, self.total_epsilon.upper] if largest > 0.0 else [0.0]
