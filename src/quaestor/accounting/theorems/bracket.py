"""A certified bracket for black boxes that are too many and too different to enumerate."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.atoms import UNIT, AtomCurve, Atoms
from quaestor.accounting.balls import ball_of
from quaestor.accounting.black_boxes import BlackBoxes
from quaestor.accounting.bounds import Bounds
from quaestor.accounting.profile import BlackBoxProfile
from quaestor.accounting.theorems.moments import MomentProfile
from quaestor.accounting.theorems.optimal import RandomizedResponsePower

if TYPE_CHECKING:
    from flint import arb

__all__ = ["GridBracket"]

_MOST_WORK = 1_000_000_000  # multiplications, for either end
_MOST_POINTS = 400_000


class GridBracket(BlackBoxProfile):
    r"""Epsilons moved to a grid: downwards for the lower end, split between neighbours above.

    Randomized response with :math:`nh \le \varepsilon < (n+1)h` lies between two others:

    * it dominates randomized response with :math:`nh` (which is a noisier version of it);
    * it is what remains of a public coin that picks :math:`nh` or :math:`(n+1)h`, when the coin is
      forgotten, if the coin's weight w makes the probabilities of truth agree:
      :math:`s(\varepsilon) = (1-w)\,s(nh) + w\,s((n+1)h)`. The coin and the response together
      dominate it.

    The grid is as fine as a billion multiplications allow. Beyond what any grid can do (millions
    of releases), the moment bound and the largest group of equal releases remain.
    """

    def __init__(self, boxes: BlackBoxes) -> None:
        """Choose the grid; nothing is computed until the first question."""
        super().__init__(boxes)
        self._count = sum(count for _, count in boxes.responses)
        self._points = min(_MOST_POINTS, _MOST_WORK // (4 * self._count))
        self._base = self.total_epsilon.upper / max(self._points, 1)
        self._moments = MomentProfile(BlackBoxes.pure(boxes.responses))

    def _pure_delta(self, epsilon: float) -> arb:
        upper = self._moments.delta_bounds(epsilon=max(epsilon, 0.0)).upper
        lower = self._largest_group.delta_bounds(epsilon=epsilon).lower
        if self._points > self._count:
            upper = min(upper, self._above.bounds(epsilon).upper)
            lower = max(lower, self._below.bounds(epsilon).lower)
        return ball_of(Bounds(lower=min(lower, upper), upper=upper))

    @cached_property
    def _largest_group(self) -> RandomizedResponsePower:
        worth = max(self.boxes.responses, key=lambda group: group[0] * math.sqrt(group[1]))
        return RandomizedResponsePower(BlackBoxes.pure((worth,)))

    @cached_property
    def _below(self) -> AtomCurve:
        steps = [(int(epsilon / self._base), count) for epsilon, count in self.boxes.responses]
        size = sum(n * count for n, count in steps)
        masses = np.zeros(size + 1)
        masses[0], filled = 1.0, 1
        for n, count in steps:
            truth, lie = _response(n * self._base)
            for _ in range(count):
                old = masses[:filled].copy()
                masses[:filled] *= lie
                masses[n : filled + n] += truth * old
                filled += n
        return self._curve(masses, 2 * self._base)

    @cached_property
    def _above(self) -> AtomCurve:
        base = self._base
        steps = [(int(epsilon / base), epsilon, count) for epsilon, count in self.boxes.responses]
        size = 2 * sum((n + 1) * count for n, _, count in steps)
        masses = np.zeros(size + 1)
        masses[0], filled = 1.0, 1
        for n, epsilon, count in steps:
            weight = _coin(n, base, epsilon)
            (truth, lie), (more_truth, less_lie) = _response(n * base), _response((n + 1) * base)
            taps = (
                (0, weight * less_lie),
                (1, (1 - weight) * lie),
                (2 * n + 1, (1 - weight) * truth),
                (2 * n + 2, weight * more_truth),
            )
            for _ in range(count):
                old = masses[:filled].copy()
                masses[:filled] = 0.0
                for shift, mass in taps:
                    masses[shift : filled + shift] += mass * old
                filled += 2 * n + 2
        return self._curve(masses, base)

    def _curve(self, masses: np.ndarray[tuple[int], np.dtype[np.float64]], gap: float) -> AtomCurve:
        middle = (masses.size - 1) / 2
        losses = (np.arange(masses.size, dtype=np.float64) - middle) * gap
        blur = 4 * UNIT * masses.size * gap * len(self.boxes.responses)
        return AtomCurve(
            Atoms(losses=losses, masses=masses, blur=blur, error=32 * self._count * UNIT)
        )


def _response(epsilon: float) -> tuple[float, float]:
    """The probabilities of truth and lie."""
    truth = 1 / (1 + math.exp(-epsilon))
    return truth, math.exp(-epsilon) * truth


def _coin(n: int, base: float, epsilon: float) -> float:
    """The coin's weight on (n + 1) h, rounded up: more weight only dominates more."""
    share = math.expm1(n * base - epsilon) / math.expm1(-base)
    weight = share * (1 + math.exp(-(n + 1) * base)) / (1 + math.exp(-epsilon))
    return min(max(weight, 0.0) + 16 * UNIT * (epsilon / base + 2), 1.0)
