"""What a recipe is: from noisy measures to an aggregate, with its error."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.query import Aggregate

__all__ = ["Estimates", "Expected", "Noised", "Recipe", "Scatter", "approximate_reach"]


class Scatter(Protocol):
    """What is known of the noise of a measure before anything is drawn, in its steps."""

    @property
    def standard_error(self) -> float:
        """The standard deviation of what is released about the truth."""

    def reach(self, confidence: float) -> float:
        """How far it is off at most with this probability."""

    @property
    def heavy(self) -> bool:
        """Whether the tails are those of Laplace, and not of Gauss."""

    @property
    def certain(self) -> bool:
        """Whether the reach holds for every figure that is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noised:
    """A measure as it was released: one number a group, in its steps, and how it scatters."""

    values: NDArray[np.int64]
    scatter: Scatter


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """An aggregate by group, with what is known of its error.

    ``approximate`` says that errors and intervals are those of the linearised aggregate (the
    delta method); if it is False the interval holds with at least the stated probability.
    """

    values: NDArray[Any]
    errors: NDArray[np.float64] | None
    lower: NDArray[np.float64] | None
    upper: NDArray[np.float64] | None
    approximate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The error of an output, foretold without looking at the data.

    With ``divided_by`` the figures are to be divided by the number of rows of the group, which is
    private: they are then bounds for whatever the data are. None: nothing can be foretold.
    """

    name: str
    standard_error: float | None
    half_width: float | None
    words: str
    divided_by: Literal["rows"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe(ABC):
    """How one aggregate is computed of measures."""

    aggregate: Aggregate

    @property
    @abstractmethod
    def measures(self) -> tuple[Measure, ...]:
        """The measures that it takes."""

    @property
    @abstractmethod
    def weights(self) -> tuple[float, ...]:
        """How much each measure's noise matters.

        The squared error of the aggregate, in units of the most that one person can move it, is
        the sum of these times the variance of each measure's noise in units of its sensitivity.
        """

    @property
    def whole(self) -> bool:
        """Whether estimates are whole numbers."""
        return False

    @abstractmethod
    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The aggregate of every group."""

    @abstractmethod
    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """Its error, before anything is drawn."""


def approximate_reach(scatters: list[Scatter], *, confidence: float) -> float:
    """How many standard errors to either side an approximate interval goes.

    The quantile of a Gaussian; where a part of the noise is Laplace, that of Laplace noise if it
    is farther out. A sum of several such is in between.
    """
    normal = NormalDist().inv_cdf((1 + confidence) / 2)
    if not any(scatter.heavy for scatter in scatters):
        return normal
    return max(normal, math.log(1 / (1 - confidence)) / math.sqrt(2))
