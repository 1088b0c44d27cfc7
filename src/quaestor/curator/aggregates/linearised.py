"""Numbers that carry what noise does to them: a value a group, and its slope in every measure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from quaestor.curator.aggregates.recipe import Noised

__all__ = ["Linearised", "linearised", "ratio_interval"]


@dataclass(frozen=True, slots=True)
class Linearised:
    """A figure by group; ``moves`` says how far one standard error of each measure moves it.

    Noises of different measures are independent, so that variances and covariances are sums over
    measures.
    """

    values: NDArray[np.float64]
    moves: NDArray[np.float64]

    def __add__(self, other: Linearised | float) -> Linearised:
        if not isinstance(other, Linearised):
            return replace(self, values=self.values + other)
        return Linearised(self.values + other.values, self.moves + other.moves)

    def __sub__(self, other: Linearised) -> Linearised:
        return Linearised(self.values - other.values, self.moves - other.moves)

    def __mul__(self, other: Linearised | NDArray[np.float64] | float) -> Linearised:
        if not isinstance(other, Linearised):
            return Linearised(self.values * other, self.moves * other)
        return Linearised(
            self.values * other.values, self.moves * other.values + other.moves * self.values
        )

    def over(self, other: Linearised) -> Linearised:
        """The quotient; the divisor is nowhere 0."""
        values = self.values / other.values
        return Linearised(values, (self.moves - other.moves * values) / other.values)

    def root(self) -> Linearised:
        """The square root of what is nowhere 0."""
        values = np.sqrt(self.values)
        return Linearised(values, self.moves / (2 * values))

    def within(self, low: Any, high: Any) -> Linearised:
        """Moved between two limits; what noise does to it stays."""
        return replace(self, values=np.clip(self.values, low, high))

    def covariance(self, other: Linearised) -> NDArray[np.float64]:
        """How the errors of two figures go together."""
        found: NDArray[np.float64] = np.sum(self.moves * other.moves, axis=0)
        return found

    @property
    def error(self) -> NDArray[np.float64]:
        """The standard error."""
        return np.sqrt(self.covariance(self))


def linearised(noised: Sequence[Noised], steps: Sequence[float]) -> list[Linearised]:
    """Released measures, in units in which a step is so long."""
    found = []
    for place, (each, step) in enumerate(zip(noised, steps, strict=True)):
        moves = np.zeros((len(noised), each.values.size))
        moves[place] = each.scatter.standard_error * step
        found.append(Linearised(each.values.astype(np.float64) * step, moves))
    return found


def ratio_interval(
    above: Linearised, below: Linearised, times: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """All ratios r for which ``above - r below`` is within so many of its standard errors of 0.

    Theorem:
        Fieller, Some problems in interval estimation (1954): the interval's confidence is that
        with which a linear figure is within so many standard errors, also where the divisor
        is not much larger than its own noise. Infinite where the divisor might be 0.
    """
    square = times**2
    leading = below.values**2 - square * below.covariance(below)
    middle = above.values * below.values - square * above.covariance(below)
    last = above.values**2 - square * above.covariance(above)
    bounded = (leading > 0) & (below.values > 0)
    divisor = np.where(bounded, leading, 1.0)
    spread = np.sqrt(np.maximum(middle**2 - leading * last, 0.0))
    return (
        np.where(bounded, (middle - spread) / divisor, -np.inf),
        np.where(bounded, (middle + spread) / divisor, np.inf),
    )
