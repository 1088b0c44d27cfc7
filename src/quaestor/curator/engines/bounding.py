"""Contribution bounding: how much of each unit counts, decided by that unit's rows alone.

Rows are first added up by unit and group. Only then, on what is usually a much smaller table, at
most so many groups of each unit are kept: those whose MD5, together with the unit's, comes first.
No step sorts all rows, and what is kept of a unit does not depend on anybody else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.cells import Cell, bounded, divided, floored, literal, number
from quaestor.curator.engines.codes import coded, encoded, pieces

if TYPE_CHECKING:
    from quaestor.curator.engines.dialects import Dialect
    from quaestor.curator.engines.relations import Frame, Frames
    from quaestor.curator.measures import Histogram, Total
    from quaestor.curator.query import Key, Query

__all__ = [
    "Grouped",
    "binding",
    "declared",
    "grouped",
    "kept",
    "operand",
    "scaled",
    "steps",
    "thinned",
]

_WORD = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """The rows of a query with their unit ``u`` and the codes of their keys, ``k0``, ``k1``..."""

    frame: Frame
    unit: Cell
    keys: list[Cell]

    @property
    def names(self) -> list[str]:
        """The columns of the keys."""
        return [f"k{place}" for place in range(len(self.keys))]

    def columns(self, **more: Any) -> Any:
        """The unit, the keys and further columns, of rows that are about somebody."""
        keys = {name: coded(key) for name, key in zip(self.names, self.keys, strict=True)}
        table = self.frame.table.filter(self.unit.value.notnull())
        return table.select(u=self.unit.value, **keys, **more)


def grouped(frames: Frames, query: Query) -> Grouped:
    """The rows of the query, ready to be added up."""
    frame = frames.frame(query.rows)
    compiler = frames.compiler(frame)
    keys = [compiler.cell(key.expression) for key in query.keys]
    return Grouped(frame=frame, unit=frame.cells[query.unit], keys=keys)


def declared(table: Any, keys: tuple[Key, ...]) -> Any:
    """The rows whose keys are all among the declared values; NULL only if it is one of them."""
    for place, key in enumerate(keys):
        if key.values is None:
            continue
        column = table[f"k{place}"]
        codes = [encoded(value, key.kind) for value in key.values]
        known = [code for code in codes if code is not None]
        test = _among(column, known, key)
        table = table.filter(test | column.isnull() if len(known) < len(codes) else test)
    return table


def _among(column: Any, known: list[Any], key: Key) -> Any:
    import ibis

    if key.kind in {"integer", "boolean"} and len(known) > 2:
        ordered = sorted(set(known))
        step = ordered[1] - ordered[0]
        if ordered == list(range(ordered[0], ordered[-1] + 1, step)):
            inside = column.between(ordered[0], ordered[-1])
            return inside & ((column - ordered[0]) % step == 0) if step > 1 else inside
    if key.kind == "date":
        return column.isin([ibis.literal(day).cast("date") for day in known])
    return column.isin(known)


def binding(query: Query) -> bool:
    """Whether a unit can be in more groups than it may be."""
    if not query.keys:
        return False
    sizes = [None if key.values is None else len(set(key.values)) for key in query.keys]
    if None in sizes:
        return True
    return math.prod(size for size in sizes if size is not None) > query.contribution.groups


def mark(table: Any, keys: tuple[Key, ...], dialect: Dialect) -> Any:
    """What orders the groups of a unit: it is different for every unit and group."""
    kinds = [Cell(value=table["u"], kind="text" if table["u"].type().is_string() else "integer")]
    for place, _ in enumerate(keys):
        column = table[f"k{place}"]
        kinds.append(Cell(value=column, kind="integer" if column.type().is_integer() else "text"))
    return dialect.md5(pieces(kinds))


def kept(table: Any, query: Query, dialect: Dialect) -> Any:
    """Of each unit's groups, those that count. Rows of one group have the same rank."""
    import ibis

    if not binding(query):
        return table
    keys = [table[f"k{place}"] for place in range(len(query.keys))]
    ties = [dialect.ordered(key) if key.type().is_string() else key for key in keys]
    order = [mark(table, query.keys, dialect), *ties]  # MD5s can be made to collide
    rank = ibis.dense_rank().over(group_by="u", order_by=order)
    ranked = table.mutate(rank=rank)
    return ranked.filter(ranked["rank"] < query.contribution.groups)


def operand(frame: Frame, cell: Cell, measure: Total | Histogram) -> Cell:
    """What :func:`steps` is to be given, as a column: whole steps at once, if they are at hand."""
    low, high = measure.low * measure.step, measure.high * measure.step
    whole = frame.steps(measure.operand, measure.step)
    if whole is not None and low <= cell.low and cell.high <= high:
        return Cell(value=whole, kind="integer", low=cell.low, high=cell.high)
    return replace(cell, value=number(cell), kind="real")


def steps(cell: Cell, measure: Total | Histogram) -> Any:
    """A number in whole steps, moved into the measure's bounds.

    The cell is a column by now: moving a long expression into bounds would write it out twice.
    """
    step, low, high = measure.step, measure.low, measure.high
    dtype = "int32" if max(abs(low), abs(high)) < _WORD else "int64"
    if cell.kind == "integer":
        return cell.value.cast(dtype)
    within = bounded(replace(cell, size=1), low * step, high * step)
    return floored(number(within) / literal(step) + literal(0.5), dtype)


def scaled(total: Any, count: Any, rows: int) -> Any:
    """The sum of a unit's values in a group as if it had at most ``rows`` of them.

    With quotient q and rest r of total and count, ``rows * total / count`` is
    ``rows * q + rows * r / count``; the parts have one sign, so that rounding the second towards
    zero rounds the whole, and neither leaves 64 bits.
    """
    import ibis

    by = count.nullif(0)
    rest = (total % by) * rows
    picked = divided(total, by) * rows + divided(rest, by)
    return ibis.cases((count <= rows, total), else_=picked)


def thinned(before: Any, after: Any, count: Any, rows: int) -> Any:
    """How many of a unit's rows between two ranks count, if of all its ``count`` ``rows`` do.

    The rows are those in the middle of equal stretches of the sorted values: they have the same
    quantiles, as nearly as so few can.
    """
    import ibis

    def picked(rank: Any) -> Any:
        return divided(rank * (2 * rows) + count, count * 2)

    return ibis.cases((count <= rows, after - before), else_=picked(after) - picked(before))
