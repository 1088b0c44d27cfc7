"""Whatever an engine returns: rows of no cell are dropped, and figures are whole numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from quaestor.curator.kernel.figures import gathered
from quaestor.curator.kernel.measurement import Cells
from quaestor.curator.kernel.measures import RowCount, Total, Units, ValueCounts
from quaestor.curator.kernel.statement import CellStatement
from quaestor.curator.language.expressions import Column
from tests.curator.kernel.pointed import declared, private

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.curator.kernel.figures import Exact

__all__ = ["wrongs"]

_TOTAL = Total(operand=Column("g"), low=-5, high=5, step=1.0, rows=1)
_HISTOGRAM = ValueCounts(operand=Column("g"), low=0, high=9, step=1.0, rows=3)
_PLAIN = CellStatement(sql="", measures=(Units(), RowCount(rows=1), _TOTAL))
_RANKS = CellStatement(sql="", measures=(_HISTOGRAM,))


def _two(plain: list[tuple[Any, ...]], ranks: list[tuple[Any, ...]]) -> Exact:
    cells = Cells(keys=(declared("c0", "text", "a", "b"),), groups=1)
    return gathered(cells, [(_PLAIN, plain), (_RANKS, ranks)])


def _wrongs() -> Iterator[str]:
    good = [(0, 3, 3, 4, -2), (1, 1, 1, 1, 1)]
    ranks = [(0, 4, 2), (0, 5, 1), (1, 9, 1)]
    strangers = [(-1, 9, 9, 9, 9), (2, 9, 9, 9, 9), (None, 9, 9, 9, 9), ("0", 9, 9, 9, 9)]
    known = _two(good, ranks)
    values = list(known.values.values())
    if (known.units, values) != (
        [3, 1],
        [[3, 1], [4, 1], [-2, 1], [{4: 2, 5: 1}, {9: 1}]],
    ):
        yield f"figures are not in their cells: {known.units}, {values}"
    for mixed in (strangers + good, good + strangers):
        more = _two(mixed, [(at, 1, 1) for at in (-1, 2, None)] + ranks)
        if (more.units, more.values) != (known.units, known.values) or more.corrections != 7:
            yield "rows of no cell count"
    odd = _two([(0, math.nan, "x", None, math.inf), (1, -5, Decimal(2), 10**40, -(10**40))], [])
    if odd.units != [0, 0] or list(odd.values.values())[:3] != [[0, 2], [0, 2**62], [0, -(2**62)]]:
        yield f"figures are out of range: {odd.units}, {list(odd.values.values())}"
    for short in ([(0, 1)], [(0, 1, 1, 1, 1, 1)]):
        try:
            _two(short, [])
        except ValueError:
            continue
        yield "rows of another shape are taken"
    yield from _private()


def _private() -> Iterator[str]:
    cells = Cells(keys=(private("c0", "text"), private("k0", "integer")), groups=1)
    rows = [("41", 1, 7, 7), ("61", 1, 2, 2), (None, None, 1, 1), ("61", None, 4, 4)]
    found = gathered(cells, [(CellStatement(sql="", measures=(Units(),)), rows)])
    wanted = [("A", 1), ("a", 1), ("a", None), (None, None)]
    if found.groups != wanted or found.units != [7, 2, 4, 1]:
        yield f"private groups are others: {found.groups}, {found.units}"
    strangers = [("60", 1, 5, 1), ("62", 1, 5, 1), ("41", 0, 5, 1), ("41", None, 5, 1)]
    for known, others in ((rows, strangers), ([(*row[1:],) for row in rows[:1]], [(3, 5, 1)])):
        some = cells if len(known[0]) == 4 else Cells(keys=cells.keys[1:], groups=1)
        units = CellStatement(sql="", measures=(Units(),))
        more = gathered(some, [(units, known), (_RANKS, others)])
        if any(more.values[_HISTOGRAM]) or more.corrections != len(others):
            yield f"rows of groups without units count: {more.values[_HISTOGRAM]}"


def wrongs() -> list[str]:
    """What is wrong with figures that engines might return."""
    return list(_wrongs())
