"""What an engine returns, in columns: whole numbers in their range, and the identity of groups.

Columns are arrays, or lists where an engine hands over rows. Whatever is in them becomes an array
of 64-bit whole numbers: of ordinary numbers all at once, of anything else one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EngineColumns", "PrivateCells", "columns_of", "whole_numbers"]

Column = Sequence[Any] | Any  # a list, or an array, masked where there are NULLs
Rows = list[tuple[Any, ...]]
_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class EngineColumns:
    """The columns of a statement's answer, in its order."""

    columns: tuple[Column, ...]


def columns_of(answer: EngineColumns | Rows, wide: int) -> list[Column]:
    """The columns of an answer, which has to be so wide; of rows, every one of them."""
    if isinstance(answer, EngineColumns):
        columns = list(answer.columns)
        if len(columns) != wide:
            raise ValueError("a statement returned columns of another number")
        return columns
    if any(len(row) != wide for row in answer):
        raise ValueError("a statement returned rows of another shape")
    return [list(column) for column in zip(*answer, strict=True)] if answer else [[]] * wide


def whole_numbers(column: Column, *, low: int, high: int) -> tuple[NDArray[np.int64], int]:
    """Whole numbers in their range, whatever came back, and how many had to be corrected.

    Nothing is zero. The ends of the range are within 62 bits.
    """
    numbers = _plain_numbers(column)
    if numbers is None:
        pairs = [_whole(value, low, high) for value in _listed(column)]
        found = np.array([number for number, _ in pairs], np.int64)
        return found, sum(corrected for _, corrected in pairs)
    inside = np.clip(numbers, low, high)
    return inside, int(np.count_nonzero(inside != numbers))


def _whole(value: Any, low: int, high: int) -> tuple[int, bool]:
    if value is None:
        return 0, False
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return 0, True
    inside = min(max(number, low), high)
    return inside, inside != number


def _listed(column: Column) -> list[Any]:
    listed: list[Any] = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return listed


def _plain_numbers(column: Column) -> NDArray[np.int64] | None:
    """The numbers of a column that holds 64-bit whole numbers and NULLs, which become 0."""
    held = _numbers_and_nulls(column)
    return None if held is None else held[0]


def _numbers_and_nulls(column: Column) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """The same, and where the NULLs are; None for other columns."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind != "i":
            return None if column.dtype.kind != "O" else _numbers_and_nulls(column.tolist())
        nulls = np.array(np.ma.getmaskarray(column))
        return np.asarray(np.ma.filled(column, 0)).astype(np.int64), nulls
    types = set(map(type, column))
    if not types <= {int, type(None)}:
        return None
    there = [0 if value is None else value for value in column] if len(types) > 1 else column
    if types == {type(None)}:
        there = [0] * len(column)
    try:
        numbers = np.array(there, np.int64)
    except OverflowError:
        return None
    nulls = np.fromiter((value is None for value in column), np.bool_, len(column))
    return numbers, nulls


class _Codes:
    """The codes of one key, in an order of them alone; NULL comes last."""

    def __init__(self, column: Column) -> None:
        held = _numbers_and_nulls(column)
        self._numbers: NDArray[np.int64] | None = None
        self._places: dict[Any, int] = {}
        if held is not None:
            numbers, nulls = held
            self._numbers, there = ranked(numbers[~nulls])
            self.size = self._numbers.size + 1
            self.own = np.full(numbers.size, self.size - 1, np.int64)
            """The places of the column's own codes."""
            self.own[~nulls] = there
        else:
            known = sorted(
                {code for code in _listed(column) if code is not None},
                key=lambda code: (isinstance(code, str), code),
            )
            self._places = {code: place for place, code in enumerate(known)}
            self.size = len(known) + 1
            self.own = self.places(column)

    @property
    def ranked(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places that the column's own codes have, and the place of each code."""
        last = bool((self.own == self.size - 1).any())
        return np.arange(self.size - 1 + last), self.own

    def places(self, column: Column) -> NDArray[np.int64]:
        """The place of every code; that of one that is not known is -1."""
        held = None if self._numbers is None else _numbers_and_nulls(column)
        if held is not None and self._numbers is not None:
            numbers, nulls = held
            return np.where(nulls, self.size - 1, _found(self._numbers, numbers))
        known = self._places
        if self._numbers is not None:
            known = {code: place for place, code in enumerate(self._numbers.tolist())}
        last = self.size - 1
        listed = _listed(column)
        places = (last if code is None else known.get(code, _NOWHERE) for code in listed)
        return np.fromiter(places, np.int64, len(listed))


def ranked(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different numbers in their order, and the place of each number among them.

    As ``numpy.unique`` says, which takes several times as long for numbers that are all different.

    >>> [each.tolist() for each in ranked(np.array([7, -2, 7]))]
    [[-2, 7], [1, 0, 1]]
    """
    order = np.argsort(numbers)
    rising = numbers[order]
    first = np.ones(rising.size, np.bool_)
    first[1:] = rising[1:] != rising[:-1]
    places = np.empty(rising.size, np.int64)
    places[order] = np.cumsum(first) - 1
    return rising[first], places


def _found(known: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each number is among sorted ones; -1 where it is not."""
    if not known.size:
        return np.full(wanted.size, _NOWHERE, np.int64)
    at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.where(known[at] == wanted, at, _NOWHERE)


class PrivateCells:
    """Private groups: those of one statement's rows, in an order of their codes alone."""

    def __init__(self, columns: list[Column], rows: int) -> None:
        self._steps: list[tuple[_Codes, NDArray[np.int64]]] = []
        cells = np.zeros(rows, np.int64)
        for column in columns:
            codes = _Codes(column)
            known, cells = ranked(cells * codes.size + codes.own) if self._steps else codes.ranked
            self._steps.append((codes, known))
        self.own = cells
        """Which group each of these rows is of."""
        self.count = int(cells.max(initial=-1)) + 1
        first = np.empty(self.count, np.intp)
        first[cells[::-1]] = np.arange(rows)[::-1]  # of rows of one group, the first is set last
        self.codes = [_taken(column, first) for column in columns]
        """The codes of the groups, one column a key."""

    def places(self, columns: list[Column], rows: int) -> NDArray[np.int64]:
        """Which group each row is of; -1 where it is of none of them."""
        cells = np.zeros(rows, np.int64)
        for (codes, known), column in zip(self._steps, columns, strict=True):
            found = codes.places(column)
            both = np.where((cells < 0) | (found < 0), _NOWHERE, cells * codes.size + found)
            cells = _found(known, both)
        return cells


def _taken(column: Column, rows: NDArray[np.intp]) -> NDArray[Any]:
    """Some values of a column, as Python's own where there are NULLs."""
    if isinstance(column, np.ndarray) and not np.ma.isMaskedArray(column):
        return column[rows]
    listed = np.empty(len(column), object)
    listed[:] = _listed(column)
    return listed[rows]
