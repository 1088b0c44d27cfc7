"""Measures: the whole numbers, one a cell, that the engine computes and that noise is added to.

Each says how far one unit can move it in one cell, and the kernel's statement clamps every unit's
contribution to just that, by the same constants. They are limited so that no sum overflows: a value
is at most 2**36 steps, a contribution at most 2**50. Of values beyond 2**26 steps one unit's sum is
moved into 62 bits before anything else is done with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Expression

__all__ = [
    "Chosen",
    "Distinct",
    "JointTotals",
    "Measure",
    "Reach",
    "RowCount",
    "Total",
    "UnitBins",
    "Units",
    "ValueCounts",
]

_MOST_STEPS: Final = 2**36
_MOST: Final = 2**50
_MOST_EDGES: Final = 1000


class Measure(ABC):
    """A whole number by cell; ``sensitivity`` is how far one unit can move it in one cell."""

    __slots__ = ()

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """The largest change that adding or removing one unit makes in one cell."""

    @property
    def grows(self) -> bool:
        """Whether one more unit never makes it smaller."""
        return True

    @property
    def by_cell(self) -> bool:
        """Whether there is one number a cell; else there is one for the whole question."""
        return True


def _whole(name: str, value: Any, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise InvalidParameter(name, value, f"a whole number from {low} to {high}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Units(Measure):
    """How many units have a row in the cell."""

    @property
    def sensitivity(self) -> int:
        """One unit is one unit."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCount(Measure):
    """How many rows, at most ``rows`` of each unit; of those where ``operand`` is not NULL."""

    rows: int
    operand: Expression | None = None

    def __post_init__(self) -> None:
        """Check that sums cannot overflow."""
        _whole("rows", self.rows, 1, _MOST)

    @property
    def sensitivity(self) -> int:
        """All the rows of one unit that count."""
        return self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stepped(Measure):
    """Of an operand in whole steps, moved into ``[low, high]`` after division and rounding."""

    operand: Expression
    low: int
    high: int
    step: float
    rows: int

    def __post_init__(self) -> None:
        """Check that sums cannot overflow."""
        _whole("low", self.low, -_MOST_STEPS, _MOST_STEPS)
        _whole("high", self.high, self.low, _MOST_STEPS)
        _whole("rows", self.rows, 1, _MOST // max(abs(self.low), abs(self.high), 1))
        if not 1e-100 <= self.step <= 1e100:
            raise InvalidParameter("step", self.step, "a number from 1e-100 to 1e100")


@dataclass(frozen=True, slots=True, kw_only=True)
class Total(_Stepped):
    r"""The sum of an operand, in steps, each unit counting with at most ``rows`` rows.

    A row's value is moved into ``[low, high]`` (whole numbers of steps) after division by ``step``
    and rounding; NULL rows do not count. A unit with n rows of the cell, n above ``rows``, counts
    with ``rows`` times the mean of its values, rounded towards zero to a whole number: as if so
    many of its rows had been picked, without the noise of picking.
    """

    @property
    def least(self) -> int:
        """The least that one unit can contribute."""
        return min(0, self.rows * self.low)

    @property
    def most(self) -> int:
        """The most that one unit can contribute."""
        return max(0, self.rows * self.high)

    @property
    def sensitivity(self) -> int:
        """The most that so many rows can add up to, either way."""
        return max(-self.least, self.most)

    @property
    def grows(self) -> bool:
        """Sums of what is never negative."""
        return self.low >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTotals(Measure):
    """Several totals, one after another, whose magnitudes together are bounded by ``bound``.

    A unit's contributions to them are cut one after another to what the bound has left, so that
    the vector moves by at most ``bound`` in the sum of magnitudes (and in the Euclidean norm).
    """

    totals: tuple[Total, ...]
    bound: int

    def __post_init__(self) -> None:
        """Check that it is a vector, and its bound."""
        _whole("bound", self.bound, 1, _MOST)
        if not 1 <= len(self.totals) <= 4 or any(type(total) is not Total for total in self.totals):
            raise InvalidParameter("totals", self.totals, "one to four totals")

    @property
    def sensitivity(self) -> int:
        """The bound."""
        return self.bound

    @property
    def grows(self) -> bool:
        """Vectors are not ordered."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinct(Measure):
    """How many different values there are, counting at most ``rows`` different ones a unit."""

    operand: Expression
    rows: int

    def __post_init__(self) -> None:
        """Check that sums cannot overflow."""
        _whole("rows", self.rows, 1, _MOST)

    @property
    def sensitivity(self) -> int:
        """The values that only one unit has."""
        return self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCounts(_Stepped):
    """For quantiles: how many rows have each value, in steps, at most ``rows`` rows a unit.

    Values are moved into ``[low, high]`` (in steps) and rounded as for :class:`Total`. The engine
    returns counts by value, and not one number.
    """

    @property
    def sensitivity(self) -> int:
        """How far one unit can move a rank, or all counts of a cell together."""
        return self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitBins(Measure):
    """How many units have how much, each of them in one bin: a vector, one number a bin.

    ``of`` is what decides: ``rows`` (how many a unit has, or in that of the groups by ``keys``
    where it has most), ``groups`` (how many groups by ``keys`` it is in), or ``value`` (the first
    key, a number, in one of its rows, that whose MD5 comes first). With edges a, b, ... the bins
    are up to a, above a up to b, ..., and above the last. Edges are constants of the measure.
    """

    of: str
    edges: tuple[float, ...]
    keys: tuple[Expression, ...] = ()

    def __post_init__(self) -> None:
        """Check that every number is in just one bin."""
        if self.of not in {"rows", "groups", "value"}:
            raise InvalidParameter("of", self.of, "rows, groups or value")
        if self.of == "value" and len(self.keys) != 1:
            raise InvalidParameter("keys", len(self.keys), "one number, for values")
        rising = all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False))
        finite = all(type(edge) is float and abs(edge) <= 1e100 for edge in self.edges)
        if not (1 <= len(self.edges) <= _MOST_EDGES and rising and finite):
            valid = f"1 to {_MOST_EDGES} rising finite floats"
            raise InvalidParameter("edges", len(self.edges), valid)

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.edges) + 1

    @property
    def sensitivity(self) -> int:
        """One unit more is one more in one bin, and nothing in the others."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen(Measure):
    """One quantile of a histogram: what is drawn, where two quantiles share the histogram.

    ``signed`` is how candidates are scored, as :class:`~quaestor.mechanisms.CountedQuantile` says.
    """

    histogram: ValueCounts
    probability: float
    signed: bool = True

    @property
    def sensitivity(self) -> int:
        """How far one unit can move a rank."""
        return self.histogram.sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach(Measure):
    """How far to either side of a chosen quantile its interval goes, in steps."""

    chosen: Chosen

    @property
    def sensitivity(self) -> int:
        """How far one unit can move a rank."""
        return self.chosen.sensitivity

    @property
    def histogram(self) -> ValueCounts:
        """Whose ranks decide."""
        return self.chosen.histogram
