"""Relations as tables of the engine: scans, filters, projections and joins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatchmethod
from typing import TYPE_CHECKING, Any

from quaestor.curator import query as q
from quaestor.curator.engines.codes import pieces
from quaestor.curator.engines.compiling import Compiler
from quaestor.curator.engines.reading import Mismatch, in_steps, read, read_unit
from quaestor.curator.engines.unions import common
from quaestor.curator.language.expressions import Column
from quaestor.errors import InvalidParameter, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.engines.cells import Cell
    from quaestor.curator.engines.dialects import Dialect
    from quaestor.curator.language.expressions import Expression

__all__ = ["Frame", "Frames"]


@dataclass(frozen=True, slots=True)
class Frame:
    """A table of the engine with what is known of its columns."""

    table: Any
    cells: dict[str, Cell]
    granules: dict[str, float]
    """Columns that are whole multiples of these, and are there in steps too, under hidden names."""

    @classmethod
    def of(cls, table: Any, cells: dict[str, Cell], steps: dict[str, tuple[Any, float]]) -> Frame:
        """The table with these columns, as new ones; some of them in steps as well."""
        chosen = {name: cell.value for name, cell in cells.items()}
        hidden = {_hidden(name): value for name, (value, _) in steps.items()}
        granules = {name: granule for name, (_, granule) in steps.items()}
        return cls.over(table.select(**chosen, **hidden), cells, granules)

    @classmethod
    def over(cls, table: Any, cells: dict[str, Cell], granules: dict[str, float]) -> Frame:
        """The facts of the cells, for columns of those names in the table."""
        bound = {name: replace(cell, value=table[name]) for name, cell in cells.items()}
        return cls(table, bound, granules)

    @property
    def names(self) -> list[str]:
        """All columns of the table."""
        return [*self.cells, *(_hidden(name) for name in self.granules)]

    def steps(self, expression: Expression, step: float) -> Any | None:
        """A column in whole steps, if that is at hand."""
        if isinstance(expression, Column) and self.granules.get(expression.name) == step:
            return self.table[_hidden(expression.name)]
        return None


def _hidden(name: str) -> str:
    return f"{name} in steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """Makes frames of relations.

    Of tables, only columns with ``wanted`` names are read; all of them if there is no such list.
    Those with ``stepped`` names are wanted in whole steps too.
    """

    catalog: Catalog
    opened: Callable[[Table], Any]
    dialect: Dialect
    wanted: AbstractSet[str] | None
    stepped: AbstractSet[str] = frozenset()

    def compiler(self, frame: Frame) -> Compiler:
        """What compiles expressions over the frame."""
        return Compiler(frame.cells, self.dialect)

    @singledispatchmethod
    def frame(self, relation: q.Relation) -> Frame:
        """The relation on the engine."""
        raise InvalidParameter("relation", type(relation).__name__, "a relation")

    @frame.register
    def _(self, relation: q.Scan) -> Frame:
        table = self.catalog.table(relation.table)
        if table is None:
            raise InvalidParameter("table", relation.table, "one that the catalog declares")
        source = self.opened(table)
        there = {name.lower(): name for name in reversed(source.columns)}
        there.update({name: name for name in source.columns})
        cells, steps = {}, {}
        for facts in table.columns:
            if self.wanted is not None and facts.name not in self.wanted:
                continue
            name = there.get(facts.name) or there.get(facts.name.lower())
            if name is None:
                raise SourceUnavailable(table.name, f"it has no column {facts.name!r}")
            try:
                if facts.name == table.unit:
                    cells[facts.name] = read_unit(source[name], facts)
                else:
                    cells[facts.name] = read(source[name], facts, self.dialect)
                    whole = in_steps(source[name], facts, self.dialect)
                    if whole is not None and facts.name in self.stepped:
                        steps[facts.name] = (whole, facts.granularity or 0.0)
            except Mismatch as problem:
                raise SourceUnavailable(table.name, str(problem)) from None
        return Frame.of(source, cells, steps)

    @frame.register
    def _(self, relation: q.Filtered) -> Frame:
        below = self.frame(relation.rows)
        condition = self.compiler(below).condition(relation.condition)
        return Frame.over(below.table.filter(condition.value), below.cells, below.granules)

    @frame.register
    def _(self, relation: q.Projected) -> Frame:
        below = self.frame(relation.rows)
        compiler = self.compiler(below)
        steps = {
            name: (below.table[_hidden(x.name)], below.granules[x.name])
            for name, x in relation.columns
            if isinstance(x, Column) and x.name in below.granules
        }
        cells = {name: compiler.cell(expression) for name, expression in relation.columns}
        return Frame.of(below.table, cells, steps)

    @frame.register
    def _(self, relation: q.Join) -> Frame:
        left = self.frame(relation.left)
        # Which of several rows is the one must not depend on what else is asked.
        right = (replace(self, wanted=None) if relation.unique else self).frame(relation.right)
        both = set(left.cells) & set(right.cells)
        if both:
            raise InvalidParameter("join", sorted(both), "of relations without common names")
        if relation.unique:
            right = self._one_row_a_key(right, [column.name for _, column in relation.on])
        on = []
        for a, b in relation.on:
            x, y = self.compiler(left).cell(a), self.compiler(right).cell(b)
            if x.value.type() == y.value.type():
                on.append(x.value == y.value)
            else:
                one, other = common((x, y))
                on.append(one.value == other.value)
        joined = left.table.join(right.table, on, how=relation.how)
        return Frame.over(
            joined.select(*left.names, *right.names),
            {**left.cells, **right.cells},
            {**left.granules, **right.granules},
        )

    def _one_row_a_key(self, frame: Frame, keys: list[str]) -> Frame:
        """Of rows that agree on the keys, the one whose columns have the least MD5."""
        import ibis

        mark = self.dialect.md5(pieces(frame.cells.values()))
        numbered = frame.table.mutate(mark=mark)
        place = ibis.row_number().over(group_by=keys, order_by=numbered["mark"])
        first = numbered.mutate(place=place).filter(ibis._.place == 0)
        return Frame.over(first.select(*frame.names), frame.cells, frame.granules)
