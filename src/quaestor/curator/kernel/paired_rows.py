"""Rows read once under inner and outer limits: their columns twice, where bounds make a difference.

What limits cut takes what every unit has under both. Where both are of the same rows in the same
cells, and differ only in the bounds that values were moved into, one statement can read them once.
Where that is not certain, nothing is paired, and they are read apart: rows that are capped, joins
of private tables, conditions and keys on values that bounds may move.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Final

from quaestor.curator.kernel.relations import EngineRows, Relations
from quaestor.curator.language import query as q
from quaestor.curator.language.expressions import (
    Column,
    Comparison,
    Constant,
    IsNull,
    Logic,
    Member,
    Not,
    children,
    columns_in,
)
from quaestor.curator.scalars.writer import ScalarWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from quaestor.curator.catalog.model import ColumnFacts
    from quaestor.curator.kernel.measurement import Cells
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.scalars.scalar import Scalar

__all__ = ["PairedRows", "keeps", "paired_rows"]

_OUTER: Final = "\0"
"""What follows a name, where it is of the column under outer bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRows:
    """The same rows, with the columns of inner and with those of outer bounds."""

    inner: EngineRows
    outer: EngineRows


class _Apart(Exception):  # not an error: it never leaves this file
    """It is not certain that rows under both limits are the same."""


def paired_rows(relation: q.Relation, inner: Relations, cells: Cells) -> PairedRows | None:
    """The rows of a relation under both limits, in the same cells; None if that is not certain."""
    once = inner.database.dialect.common_table is not None  # else rows would be read again
    if not once or inner.capped or inner.private_tables(relation) != 1:
        return None
    given = {each.name: getattr(inner, each.name) for each in fields(inner)}
    try:
        rows = _PairedRelations(**given).rows(relation)
        for key in cells.keys:
            _same(rows, key.expression, inner)
    except _Apart:
        return None
    return PairedRows(
        inner=replace(rows, columns=_inner(rows.columns)),
        outer=replace(rows, columns=_outer(rows.columns)),
    )


def _inner(columns: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return {name: x for name, x in columns.items() if not name.endswith(_OUTER)}


def _outer(columns: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return {name: columns.get(name + _OUTER, x) for name, x in _inner(columns).items()}


def _same(rows: EngineRows, expression: Expression, relations: Relations) -> None:
    """Go on if an expression is of columns that outer bounds do not touch."""
    written = (ScalarWriter(each(rows.columns), relations.sql) for each in (_inner, _outer))
    one, other = (writer.scalar(expression) for writer in written)
    if one != other:
        raise _Apart


def _refuse_marked(names: Iterable[str]) -> None:
    """No name may be taken for that of a column under outer bounds."""
    if any(_OUTER in name for name in names):
        raise _Apart


def _touched(
    relation: q.Relation, columns: Mapping[str, Scalar]
) -> dict[str, tuple[float, float] | None]:
    """The columns that outer bounds may change, with their inner bounds if they are as read."""
    found: dict[str, tuple[float, float] | None] = {}
    for name, x in _inner(columns).items():
        y = columns.get(name + _OUTER)
        if y is not None:
            wider = _as_read(relation) and y.low <= x.low and x.high <= y.high
            found[name] = (x.low, x.high) if wider else None
    return found


def _as_read(relation: q.Relation) -> bool:
    """Whether every column is one of a table, and nothing was made of it."""
    match relation:
        case q.Scan():
            return True
        case q.Filtered():
            return _as_read(relation.rows)
        case q.Join():
            return _as_read(relation.left) and _as_read(relation.right)
    return False


def keeps(condition: Expression, touched: Mapping[str, tuple[float, float] | None]) -> bool:  # noqa: PLR0911  # one line a kind of condition
    """Whether a condition surely says the same of values inside inner and outer bounds.

    ``touched`` are the columns whose values outer bounds may change, with their inner bounds where
    they are as they were read. A comparison with a constant between the inner bounds says the same:
    moving a value into bounds leaves it on its side of the constant.
    """
    if not columns_in(condition) & touched.keys():
        return True
    match condition:
        case Logic() | Not():
            return all(keeps(part, touched) for part in children(condition))
        case IsNull(operand=Column()):
            return True
        case Comparison(left=Column() as column, right=Constant() as constant):
            return _inside(constant, touched.get(column.name))
        case Comparison(left=Constant() as constant, right=Column() as column):
            return _inside(constant, touched.get(column.name))
        case Member(operand=Column() as column):
            return all(_inside(value, touched.get(column.name)) for value in condition.values)
    return False


def _inside(constant: Constant, bounds: tuple[float, float] | None) -> bool:
    value = constant.value
    if bounds is None or isinstance(value, str | bool) or value is None:
        return False
    return bounds[0] < value < bounds[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PairedRelations(Relations):
    """Writes relations whose columns that outer bounds touch are there twice."""

    known: dict[int, EngineRows] = field(default_factory=dict)
    """The relations that were written, by their identity: each is looked at more than once."""

    def rows(self, relation: q.Relation) -> EngineRows:
        """The relation on the engine, if its rows are surely the same under both limits."""
        if id(relation) not in self.known:
            self._check(relation)
            self.known[id(relation)] = Relations.rows(self, relation)
        return self.known[id(relation)]

    def _check(self, relation: q.Relation) -> None:
        match relation:
            case q.Scan():
                table = self._declared(relation.table)
                _refuse_marked(facts.name for facts in table.columns)
                if self._cap(table) is not None:
                    raise _Apart
            case q.Filtered():
                touched = _touched(relation.rows, self.rows(relation.rows).columns)
                if not keeps(relation.condition, touched):
                    raise _Apart
            case q.Projected():
                _refuse_marked(name for name, _ in relation.columns)
            case q.Join():
                left, right = self.rows(relation.left), self.rows(relation.right)
                if relation.unique and len(right.columns) > len(_inner(right.columns)):
                    raise _Apart
                for ours, theirs in relation.on:
                    _same(left, ours, self)
                    _same(right, theirs, self)
            case _:
                raise _Apart

    def _readings(self, facts: ColumnFacts, declared: ColumnFacts) -> dict[str, ColumnFacts]:
        """A column by its inner bounds, and by its outer ones if there are others."""
        outer = self._facts(declared, outer=True)
        return {facts.name: facts} | ({facts.name + _OUTER: outer} if outer != facts else {})

    def _made(self, relation: q.Projected, below: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """The columns that are made of others, twice where that makes a difference."""
        inner, outer = (Relations._made(self, relation, each(below)) for each in (_inner, _outer))  # noqa: SLF001
        twice = {name + _OUTER: x for name, x in outer.items() if x != inner[name]}
        return {**inner, **twice}
