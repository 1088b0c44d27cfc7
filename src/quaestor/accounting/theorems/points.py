"""Profiles of theorems that promise closed formulas instead of the exact curve."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.numerics.balls import ZERO, outward, working_precision
from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.theorems.black_boxes import BlackBoxes

__all__ = ["FormulaProfile", "PointProfile"]

_NOTHING = Bounds.exactly(1.0)


class PointProfile(Profile):
    """A promise at one point: (epsilon, delta) and whatever is weaker."""

    def __init__(self, *, epsilon: arb, delta: arb) -> None:
        """Keep the point, as balls."""
        self.epsilon, self.delta = outward(epsilon), outward(delta).clipped(0.0, 1.0)

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """The point's delta from the point's epsilon on; 1, which is no promise, before."""
        if epsilon >= self.epsilon.upper:
            return self.delta
        if epsilon < self.epsilon.lower:
            return _NOTHING
        return Bounds(lower=self.delta.lower, upper=1.0)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """The point's epsilon, if ``delta`` is large enough for the point to say anything."""
        if delta >= 1.0:
            return Bounds.exactly(0.0)
        if delta >= self.delta.upper:
            return self.epsilon
        if delta < self.delta.lower:
            return Bounds.exactly(math.inf)
        return Bounds(lower=self.epsilon.lower, upper=math.inf)

    def supports(self, at_most: int) -> Sequence[float]:  # noqa: ARG002
        """The one line there is."""
        return [self.epsilon.upper]


class FormulaProfile(Profile):
    """A promise (epsilon(slack), merge(slack)) for every slack delta-tilde in (0, 1]."""

    def __init__(self, boxes: BlackBoxes) -> None:
        """Keep the history that the formula speaks of."""
        self.boxes = boxes

    @abstractmethod
    def _epsilon_at(self, slack: arb) -> arb:
        """The formula, at a slack in (0, 1]."""

    @abstractmethod
    def _slack_at(self, epsilon: arb) -> arb:
        """The formula solved for the slack: the least one whose epsilon is at most this."""

    @abstractmethod
    def _slack_of(self, delta: float) -> arb:
        """What the total delta leaves for the slack; negative if not even the failures fit."""

    @abstractmethod
    def _total(self, slack: arb) -> arb:
        """The total delta at a slack."""

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the theorem's total delta at ``epsilon``."""
        if math.isinf(epsilon):
            epsilon = 1e300
        with working_precision(256):
            return outward(self._total(self._slack_at(arb(epsilon)))).clipped(0.0, 1.0)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the theorem's epsilon at a total ``delta``."""
        if delta >= 1.0:
            return Bounds.exactly(0.0)
        with working_precision(256):
            slack = self._slack_of(delta)
            if slack < 0:
                return Bounds.exactly(math.inf)
            if slack > 0:
                return outward(self._epsilon_at(slack)).clipped(0.0, math.inf)
            if slack.is_zero():
                return self._epsilon_without_slack()
            return Bounds(lower=0.0, upper=math.inf)

    def _epsilon_without_slack(self) -> Bounds:
        return Bounds.exactly(math.inf)

    def supports(self, at_most: int) -> Sequence[float]:
        """Evenly spread epsilons up to a slack of 1e-12."""
        failure = outward(self._total(ZERO)).upper
        largest = self.epsilon_bounds(delta=min(failure + 1e-12, 1.0)).upper
        if not math.isfinite(largest):
            largest = outward(self.boxes.total_epsilon()).upper
        return [largest * i / (at_most - 1) for i in range(at_most)]
