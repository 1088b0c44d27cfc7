"""The profile of black boxes: what all exact algorithms for them have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

from quaestor.accounting.curves.epsilon_search import least_epsilon
from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.numerics.balls import outward, rational, working_precision
from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flint import arb

    from quaestor.accounting.theorems.black_boxes import BlackBoxes

__all__ = ["BlackBoxProfile"]

_TINY = 1e-305  # epsilons that floats can hardly tell from zero, and nobody needs to


class BlackBoxProfile(Profile):
    r"""The profile of black boxes: failures merged with the pure part that a subclass computes.

    :math:`\delta = \delta_{pure} + (1 - \delta_{pure})\,(1 - \prod_i (1 - \delta_i))`, formed so
    that nothing cancels.
    """

    knows_its_end = True

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
            return Bounds.exactly(0.0)
        slack = self.boxes.slack(delta)
        if slack < 0:
            return Bounds.exactly(math.inf)
        if slack.is_zero():
            return self.total_epsilon
        if self.total_epsilon.upper < _TINY:
            return Bounds(lower=0.0, upper=self.total_epsilon.upper)
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
