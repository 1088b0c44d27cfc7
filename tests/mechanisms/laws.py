"""What mechanisms ought to do, from the definitions, in mpmath; and a test that can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from mpmath import exp, gammainc, mp, mpf

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "chi_square",
    "discrete_gaussian",
    "discrete_laplace",
    "floored_laplace",
    "normalised",
    "p_value",
    "staircase_cells",
]

mp.dps = 40


def normalised(weights: Mapping[int, mpf]) -> dict[int, mpf]:
    """Weights divided by their sum."""
    total = sum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def discrete_laplace(scale: float, reach: int) -> dict[int, mpf]:
    """The law on [-reach, reach], which is all but nothing of it."""
    return normalised({x: exp(-abs(x) / mpf(scale)) for x in range(-reach, reach + 1)})


def floored_laplace(scale: float, reach: int) -> dict[int, mpf]:
    """The probabilities of the cells [x, x + 1) under a Laplace density."""
    half = -(exp(-1 / mpf(scale)) - 1) / 2
    upper = {x: half * exp(-x / mpf(scale)) for x in range(reach)}
    return upper | {-1 - x: weight for x, weight in upper.items()}


def discrete_gaussian(sigma: float, reach: int) -> dict[int, mpf]:
    """The law on [-reach, reach]."""
    return normalised(
        {x: exp(-(mpf(x) ** 2) / (2 * mpf(sigma) ** 2)) for x in range(-reach, reach + 1)}
    )


def staircase_cells(epsilon: float, stair: int, gamma: float, stairs: int) -> dict[int, mpf]:
    """The probabilities of the cells [x, x + 1) under a staircase density."""
    fall = exp(-mpf(epsilon))
    upper = {x: fall ** (x // stair + (x % stair >= gamma * stair)) for x in range(stairs * stair)}
    return normalised(upper | {-1 - x: weight for x, weight in upper.items()})


def chi_square(
    drawn: Sequence[int] | NDArray[np.int64], law: Mapping[int, mpf], *, cells: int = 50
) -> float:
    """The p-value of Pearson's test; neighbouring outcomes are joined into about so many cells."""
    outcomes = sorted(law)
    probabilities = np.array([float(law[x]) for x in outcomes])
    places = np.searchsorted(outcomes, np.asarray(drawn))
    assert np.array_equal(np.asarray(outcomes)[places], drawn), "an impossible outcome"
    counts = np.bincount(places, minlength=len(outcomes))
    total = counts.sum()
    gathered, starts = 0.0, [0]
    for index, probability in enumerate(probabilities):
        gathered += probability
        if gathered >= 1 / cells:
            gathered = 0.0
            starts.append(index + 1)
    starts.pop()  # what is left over joins the last cell
    expected = np.add.reduceat(probabilities, starts) * total
    seen = np.add.reduceat(counts, starts)
    statistic = float(np.sum((seen - expected) ** 2 / expected))
    return p_value(statistic, len(starts) - 1)


def p_value(statistic: float, freedom: int) -> float:
    """How likely chi-square with so many degrees of freedom passes the statistic."""
    return float(gammainc(mpf(freedom) / 2, mpf(statistic) / 2, regularized=True))
