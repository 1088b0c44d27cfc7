"""What limits cut: how much more a unit has under outer limits than what was counted of it.

Each is a whole number to which one unit adds a bounded amount, clamped by the kernel's statement to
the constants that are written here. How much a unit really has beyond the limits plays no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from quaestor.curator.kernel.measures import Measure, RowCount, Total, Units
from quaestor.errors import InvalidParameter

__all__ = ["CUT", "MOST_TIMES", "Beyond", "Counted", "Dropped", "Excess"]

Counted = Units | RowCount | Total
_MOST: Final = 2**50
MOST_TIMES: Final = 2**10


def _check(name: str, value: Any, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise InvalidParameter(name, value, f"a whole number from {low} to {high}")


def _check_counted(*measures: Any) -> None:
    for measure in measures:
        if type(measure) not in {Units, RowCount, Total}:
            raise InvalidParameter("measure", type(measure).__name__, "units, rows or a total")


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess(Measure):
    """Of every unit and cell: the ``outer`` measure less the ``inner`` one, from low to high.

    A step of the outer measure is ``times`` steps of the inner one, in which it is counted. It is
    of as many cells of a unit as the inner measure is: those that count first, then others.
    """

    inner: Counted
    outer: Counted
    low: int
    high: int
    times: int = 1

    def __post_init__(self) -> None:
        """Check that sums cannot overflow."""
        _check_counted(self.inner, self.outer)
        _check("low", self.low, -_MOST, 0)
        _check("high", self.high, 0, _MOST)
        _check("times", self.times, 1, MOST_TIMES)

    @property
    def sensitivity(self) -> int:
        """The most that is counted of one unit, either way."""
        return max(-self.low, self.high)

    @property
    def grows(self) -> bool:
        """Where it is never negative."""
        return self.low >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped(Measure):
    """Of every unit: the most that it has in any one of the cells in which it does not count.

    One number for the whole question, to which a unit adds at most ``most``: no cell lacks more
    than that number because units are in too many cells.
    """

    outer: Counted
    most: int
    times: int = 1

    def __post_init__(self) -> None:
        """Check that sums cannot overflow."""
        _check_counted(self.outer)
        _check("most", self.most, 0, _MOST)
        _check("times", self.times, 1, MOST_TIMES)

    @property
    def sensitivity(self) -> int:
        """The most that is counted of one unit."""
        return self.most

    @property
    def by_cell(self) -> bool:
        """It is of all cells together."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond(Measure):
    """How many units are beyond the outer limits, in rows of a cell, in cells, or in values.

    ``totals`` have the outer bounds of what is added up: a value outside puts its unit beyond, and
    so do values in one cell that add up to more than ``most`` steps of the total, either way.
    """

    rows: int
    totals: tuple[Total, ...] = ()
    most: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Check the limits."""
        _check("rows", self.rows, 1, _MOST)
        if any(type(total) is not Total for total in self.totals):
            raise InvalidParameter("totals", self.totals, "totals")
        if len(self.most) != len(self.totals):
            raise InvalidParameter("most", self.most, "one number a total")
        for most in self.most:
            _check("most", most, 0, _MOST)

    @property
    def sensitivity(self) -> int:
        """One unit is one unit."""
        return 1

    @property
    def by_cell(self) -> bool:
        """It is of all cells together."""
        return False


CUT: Final = frozenset({Excess, Dropped, Beyond})
"""The measures that take the rows under outer limits."""
