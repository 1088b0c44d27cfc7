"""The privacy profile: the curve delta(epsilon) that a set of releases, or a theorem, promises."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from quaestor.accounting.balls import outward, rational, working_precision
from quaestor.accounting.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flint import arb

    from quaestor.accounting.black_boxes import BlackBoxes

__all__ = ["BlackBoxProfile", "Profile", "least_epsilon"]

_ZERO, _ONE = Bounds.exactly(0.0), Bounds.exactly(1.0)


class Profile(ABC):
    """A curve delta(epsilon), for epsilon >= 0, that bounds both directions of a comparison."""

    @abstractmethod
    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the curve at ``epsilon`` (not negative; may be infinite)."""

    @abstractmethod
    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon whose delta is at most ``delta`` (infinite if none is)."""

    @abstractmethod
    def supports(self, at_most: int) -> Sequence[float]:
        """Epsilons whose supporting lines, at most so many, draw the privacy region well."""

    def exact_vertices(self, at_most: int) -> tuple[tuple[Bounds, Bounds], ...] | None:  # noqa: ARG002
        """All corners (false positive, false negative) of the region, where few and known."""
        return None

    def exact_false_negative(self, false_positive: float) -> Bounds | None:  # noqa: ARG002
        """The region's boundary at one point, where it is known without searching."""
        return None


class BlackBoxProfile(Profile):
    r"""The profile of black boxes: failures merged with the pure part that a subclass computes.

    :math:`\delta = \delta_{pure} + (1 - \delta_{pure})\,(1 - \prod_i (1 - \delta_i))`, formed so
    that nothing cancels.
    """

    def __init__(self, boxes: BlackBoxes) -> None:
        """Keep the history; subclasses add what they precompute."""
        self.boxes = boxes
        self.total_epsilon = outward(boxes.total_epsilon())

    @abstractmethod
    def _pure_delta(self, epsilon: float) -> arb:
        """Enclose the pure part at an epsilon below the sum of all epsilons."""

    def _pure_epsilon(self, slack: arb) -> Bounds:
        """Enclose the least epsilon whose pure part is at most ``slack``, a positive ball."""
        target = outward(slack)
        return least_epsilon(
            lambda epsilon: outward(self._pure_delta(epsilon)),
            target=target,
            guess=self.boxes.typical_epsilon(target.upper),
            largest=self.total_epsilon.upper,
        )

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the total delta at ``epsilon``."""
        failure = self.boxes.failure()
        if epsilon >= self.total_epsilon.upper or failure == 1:
            return outward(failure)
        pure = self._pure_delta(epsilon)
        with working_precision(256):
            return outward(pure + (1 - pure) * failure).clipped(0.0, 1.0)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon that is true at ``delta``."""
        if delta >= 1.0 or self.delta_bounds(epsilon=0.0).upper <= delta:
            return _ZERO
        if self.boxes.failure() == 1:
            return Bounds.exactly(math.inf)
        slack = self.boxes.slack(delta)
        if slack < 0:
            return Bounds.exactly(math.inf)
        if slack.is_zero():
            return self.total_epsilon
        if not slack > 0:  # unreachable but for contrived inputs: the sign stayed open
            return Bounds(lower=self._pure_epsilon(slack.upper()).lower, upper=math.inf)
        return self._pure_epsilon(slack).clipped(0.0, self.total_epsilon.upper)

    def supports(self, at_most: int) -> Sequence[float]:
        """Evenly spread epsilons, up to where a delta of 1e-12 beyond the failures is reached."""
        failure = outward(self.boxes.failure()).upper
        largest = self.total_epsilon.upper
        nearly_all = failure + 1e-12 * (1 - failure)
        if failure < 1 and nearly_all > failure:
            largest = min(largest, self.epsilon_bounds(delta=nearly_all).upper)
        if largest == 0.0:
            return [0.0]
        gaps = max(at_most - 2, 1)
        return [*(largest * i / gaps for i in range(gaps + 1)), self.total_epsilon.upper]

    def exact_vertices(self, at_most: int) -> tuple[tuple[Bounds, Bounds], ...] | None:
        """One corner for every loss, where there are few: the test "the loss is at least this".

        The responses are symmetric, so what one hypothesis misses the other falsely alarms, and
        the list of corners read backwards is the list of their mirror images.
        """
        if self.boxes.atom_count() + 1 > at_most:
            return None
        with working_precision(192):
            kept = 1 - self.boxes.failure()
            alarms = [kept * 0]
            for loss, mass in sorted(self.boxes.atoms().items(), reverse=True):
                alarms.append(alarms[-1] + kept * mass * (-rational(loss)).exp())
            alarms[-1] = kept
            corners = [outward(alarm).clipped(0.0, 1.0) for alarm in alarms]
        return tuple(zip(corners, reversed(corners), strict=True))


def least_epsilon(
    curve: Callable[[float], Bounds], *, target: Bounds, guess: float, largest: float
) -> Bounds:
    """Invert a decreasing certified curve: enclose the least epsilon in [0, largest] that fits.

    The search is a safeguarded secant on the logarithm of delta. Whatever it does, the ends are
    only moved on the curve's own certified word: the upper end fits by an upper bound, the lower
    end does not fit by a lower bound. At ``largest`` the curve is taken to fit.
    """
    if curve(0.0).upper <= target.lower:
        return _ZERO
    low, high = 0.0, largest  # low: certainly too small; high: certainly enough
    root = _secant_root(
        lambda epsilon: _log_excess(curve(epsilon), target),
        guess=guess if low < guess < high else (low + high) / 2,
        largest=largest,
    )
    step = max(root * 1e-14, 5e-324)
    while low < (probe := max(root - step, 0.0)):
        if curve(probe).lower > target.upper:
            low = probe
            break
        step *= 4
    step = max(root * 1e-14, 5e-324)
    while (probe := root + step) < high:
        if curve(probe).upper <= target.lower:
            high = probe
            break
        step *= 4
    return Bounds(lower=low, upper=high)


def _log_excess(delta: Bounds, target: Bounds) -> float:
    """How far the curve lies above the target, in nats; 0 where the intervals cannot tell."""
    if delta.overlaps(target):
        return 0.0
    value = (delta.lower + delta.upper) / 2
    aim = (target.lower + target.upper) / 2
    if value <= 0.0:
        return -800.0
    return math.log(value) - math.log(aim) if aim > 0.0 else 800.0


def _secant_root(excess: Callable[[float], float], *, guess: float, largest: float) -> float:
    """Estimate the zero of a decreasing function on [0, largest] (Anderson-Bjorck regula falsi)."""
    left, right = 0.0, largest
    at_left, at_right = 0.0, 0.0  # 0: not known yet
    middle, last_sign = guess, 0
    for _ in range(100):
        value = excess(middle)
        if value == 0.0:
            return middle
        sign = 1 if value > 0.0 else -1
        if sign > 0:
            if last_sign == sign and at_left:
                at_right *= max(1 - value / at_left, 0.0) or 0.5
            left, at_left = middle, value
        else:
            if last_sign == sign and at_right:
                at_left *= max(1 - value / at_right, 0.0) or 0.5
            right, at_right = middle, value
        last_sign = sign
        if right - left <= 4e-16 * right:
            break
        if at_left and at_right:
            middle = left + (right - left) * at_left / (at_left - at_right)
        else:
            middle = min(right, 1.25 * middle) if sign > 0 else 0.8 * middle
        if not left < middle < right:
            middle = (left + right) / 2
    return (left + right) / 2
