"""Measures: the whole numbers, one a group, that the engine computes and that noise is added to.

Each says how far one unit can move it in one group. That, the number of groups a unit may be in,
and the noise are all that pricing needs to know of a query.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Expression

__all__ = ["Distinct", "Histogram", "Measure", "Rows", "Total", "Units"]


class Measure(ABC):
    """A whole number by group; ``sensitivity`` is how far one unit can move it in one group."""

    __slots__ = ()

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """The largest change that adding or removing one unit makes in one group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Units(Measure):
    """How many units have a row in the group."""

    @property
    def sensitivity(self) -> int:
        """One unit is one unit."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows(Measure):
    """How many rows, at most ``rows`` of each unit; of those where ``operand`` is not NULL."""

    rows: int
    operand: Expression | None = None

    @property
    def sensitivity(self) -> int:
        """All the rows of one unit that count."""
        return self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Total(Measure):
    r"""The sum of an operand, in steps, each unit counting with at most ``rows`` rows.

    A row's value is moved into ``[low, high]`` (whole numbers of steps) after division by ``step``
    and rounding; NULL rows do not count. A unit with n rows of the group, n above ``rows``, counts
    with ``rows`` times the mean of its values, rounded towards zero to a whole number: as if so
    many of its rows had been picked, without the noise of picking.
    """

    operand: Expression
    low: int
    high: int
    step: float
    rows: int

    @property
    def sensitivity(self) -> int:
        """The most that so many rows can add up to, either way."""
        return self.rows * max(abs(self.low), abs(self.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinct(Measure):
    """How many different values there are, counting at most ``rows`` different ones a unit."""

    operand: Expression
    rows: int

    @property
    def sensitivity(self) -> int:
        """The values that only one unit has."""
        return self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram(Measure):
    """For quantiles: how many rows have each value, in steps, at most ``rows`` rows a unit.

    Values are moved into ``[low, high]`` (in steps) and rounded as for :class:`Total`. The engine
    returns counts by value, and not one number.
    """

    operand: Expression
    low: int
    high: int
    step: float
    rows: int

    @property
    def sensitivity(self) -> int:
        """How far one unit can move a rank."""
        return self.rows
