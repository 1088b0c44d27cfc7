"""What a mechanism is: it releases, and it says what that costs and how accurate it is.

The questions that others ask of a mechanism are here, and its own file answers them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.base import check_count
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.grid import (
    is_scalar,
    on_grid,
    saturating_sum,
    values_on_grid,
    whole,
    wholes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from quaestor.accounting.releases import Release
    from quaestor.mechanisms.samplers.noise import Noise

__all__ = [
    "AdditiveNoise",
    "Coordinates",
    "DescribedMechanism",
    "Mechanism",
    "RealNoise",
    "WholeNoise",
    "check_confidence",
    "check_coordinates",
]


class Mechanism(ABC):
    """Something that releases a figure about private data.

    ``loss`` describes exactly what is drawn, for :func:`quaestor.compose`. Whatever is wrong with
    a parameter or a value is found before any randomness is used.

    >>> from quaestor.mechanisms import Geometric
    >>> noise = Geometric(scale=2.0)
    >>> isinstance(noise, Mechanism), noise.loss
    (True, Geometric(scale=2.0, sensitivity=1))
    """

    __slots__ = ()

    @property
    @abstractmethod
    def loss(self) -> Release:
        """What one release costs."""

    def by_entry(self) -> Mechanism | None:
        """The same for arrays of which each entry is drawn for itself; None if it has no such."""
        return None


class DescribedMechanism(Mechanism):
    """A mechanism that a description stands for: it has the description's name and parameters.

    A file in :mod:`quaestor.mechanisms.kinds` that holds one is found by
    :func:`quaestor.mechanisms.mechanism_for`.
    """

    __slots__ = ()

    description: ClassVar[type[Release]]

    @classmethod
    def of(cls, release: Release) -> Self:
        """The mechanism with the parameters of a description, on its default grid."""
        parameters = release.to_dict()
        del parameters["type"]
        return cls(**parameters)

    @property
    @abstractmethod
    def neighbours(self) -> tuple[Any, Any]:
        """Two values as far apart as one person can move them."""

    @abstractmethod
    def release(self, value: Any) -> Any:
        """What is published about a value."""

    @property
    @abstractmethod
    def standard_error(self) -> float:
        """The standard deviation of what is released."""

    def error(self, *, confidence: float) -> Bounds | None:
        """Where ``released - value`` lies with this probability; None if that means nothing."""
        del confidence
        return None


class AdditiveNoise(DescribedMechanism):
    """A mechanism that adds noise of one law to whatever it is given."""

    __slots__ = ()

    sensitivity: float

    @abstractmethod
    def _noise(self) -> Noise:
        """The noise, in steps of the grid."""

    @property
    @abstractmethod
    def step(self) -> float:
        """The distance of neighbouring points of the grid."""

    @abstractmethod
    def for_counts(self) -> AdditiveNoise:
        """The same kind of noise in proportion, for a sensitivity of 1."""

    @property
    def neighbours(self) -> tuple[Any, Any]:
        """0, and what the sensitivity allows."""
        return type(self.sensitivity)(0), self.sensitivity

    @abstractmethod
    def interval(self, *, confidence: float) -> Bounds:
        """Where ``released - value`` lies with at least this probability, rounding included."""

    def error(self, *, confidence: float) -> Bounds:
        """That of :meth:`interval`."""
        return self.interval(confidence=confidence)

    def by_entry(self) -> AdditiveNoise:
        """Itself: noise is drawn for each entry."""
        return self

    def _check_array(self, size: int) -> None:
        """Refuse arrays whose cost the description does not cover."""


class Coordinates(AdditiveNoise):
    """Noise whose cost depends on how many entries of an array one person may change."""

    __slots__ = ()

    coordinates: int | None

    def by_entry(self) -> AdditiveNoise:
        """The same for arrays of which one person may change one entry, if nothing was said."""
        return self if self.coordinates is not None else replace(self, coordinates=1)  # type: ignore[type-var]  # every kind is a dataclass

    def _check_array(self, size: int) -> None:
        if size > 1 and self.coordinates is None:
            raise InvalidParameter(
                "coordinates", None, "given for arrays: how many entries one person may change"
            )


class WholeNoise(AdditiveNoise):
    """Noise on whole numbers: what is released is the value plus the noise, exactly.

    An array is released with independent noise on each entry. Single sums are Python's whole
    numbers; sums in arrays are held at the ends of 64 bits, which is a function of the released
    figure alone and costs no privacy.
    """

    __slots__ = ()

    @property
    def step(self) -> float:
        """1: nothing is rounded."""
        return 1.0

    @overload
    def release(self, value: int) -> int: ...
    @overload
    def release(self, value: NDArray[Any] | Sequence[int]) -> NDArray[np.int64]: ...
    def release(self, value: int | ArrayLike) -> int | NDArray[np.int64]:
        """The value, or each of an array, plus noise."""
        if is_scalar(value):
            return whole(value) + self._noise().one()
        values = wholes(value)
        self._check_array(values.size)
        noise = self._noise().many(values.size).reshape(values.shape)
        return saturating_sum(values, noise)


class RealNoise(Coordinates):
    """Noise on a grid of real numbers: the value is rounded to the grid, then noise is added.

    Rounding comes first and noise is a whole number of steps, so that the floats released lie on
    the grid whatever the value was, and their lowest bits say nothing. What floats cannot hold is
    rounded once more, which is a function of the released figure alone.
    """

    __slots__ = ()

    _offset = 0.0  # of the noise, in steps

    granularity: float | None

    @overload
    def release(self, value: float) -> float: ...
    @overload
    def release(self, value: NDArray[Any] | Sequence[float]) -> NDArray[np.float64]: ...
    def release(self, value: float | ArrayLike) -> float | NDArray[np.float64]:
        """The value, or each of an array, rounded to the grid, plus noise."""
        if is_scalar(value):
            steps = on_grid(value, self.step) + self._noise().one()
            return (steps + self._offset) * self.step
        values = values_on_grid(value, self.step)
        self._check_array(values.size)
        noise = self._noise().many(values.size).reshape(values.shape)
        steps_of_all = saturating_sum(values, noise).astype(np.float64)
        return (steps_of_all + self._offset) * self.step

    def _with_rounding(self, steps: int | Fraction) -> Bounds:
        """So many steps to either side, and the half step of the rounding."""
        reach = float((steps + 0.5) * self.step)
        return Bounds(lower=-reach, upper=reach)


def check_coordinates(value: object, *, largest: int = 10**9) -> int | None:
    """How many entries of an array one person may change; ``None`` if that was not said."""
    return None if value is None else check_count("coordinates", value, largest=largest)


def check_confidence(value: float) -> Fraction:
    """The probability of missing, ``1 - confidence``, exactly."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1.0:
        raise InvalidParameter("confidence", value, "a number between 0 and 1")
    return 1 - Fraction(value)
