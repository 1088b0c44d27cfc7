"""From a query and its measures to statements for the engine, each of which yields aggregates."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.bounding import (
    declared,
    grouped,
    kept,
    operand,
    scaled,
    steps,
    thinned,
)
from quaestor.curator.engines.cells import Cell, expressly
from quaestor.curator.engines.codes import coded, pieces
from quaestor.curator.engines.relations import Frames
from quaestor.curator.engines.unions import fenced
from quaestor.curator.language.expressions import Column
from quaestor.curator.measures import Distinct, Histogram, Rows, Total, Units
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.engines.bounding import Grouped
    from quaestor.curator.engines.dialects import Dialect
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.measures import Measure
    from quaestor.curator.query import Query

__all__ = ["Planner", "Step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A table to compute: columns for the keys, and one for each of the measures.

    The first step also has the number of units; a histogram's has the value before the count.
    """

    table: Any
    measures: tuple[Measure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Plans queries on the tables of one engine."""

    catalog: Catalog
    opened: Callable[[Table], Any]
    dialect: Dialect

    def plan(self, query: Query, measures: Sequence[Measure]) -> list[Step]:
        """The first step is of all plain measures together; each other measure has its own."""
        frames = Frames(
            catalog=self.catalog,
            opened=self.opened,
            dialect=self.dialect,
            wanted={query.unit, *_names(query), *_names(tuple(measures))},
            stepped={
                measure.operand.name
                for measure in measures
                if isinstance(measure, Total | Histogram) and isinstance(measure.operand, Column)
            },
        )
        rows = grouped(frames, query)
        compile_one = frames.compiler(rows.frame).cell
        plain = tuple(m for m in measures if isinstance(m, Units | Rows | Total))
        plan = [self._plain(query, rows, plain, compile_one)]
        for measure in measures:
            if isinstance(measure, Distinct):
                plan.append(self._distinct(query, rows, measure, compile_one))
            elif isinstance(measure, Histogram):
                plan.append(self._histogram(query, rows, measure, compile_one))
            elif measure not in plain:
                raise InvalidParameter("measure", type(measure).__name__, "a measure")
        return plan

    def _plain(
        self,
        query: Query,
        rows: Grouped,
        measures: tuple[Measure, ...],
        compile_one: Callable[[Expression], Cell],
    ) -> Step:
        """Units, rows and totals: added up by unit and group, bounded, added up by group."""
        totals: dict[str, tuple[Total, Cell]] = {}
        tests: dict[str, Any] = {}
        for place, measure in enumerate(measures):
            if isinstance(measure, Total):
                cell = operand(rows.frame, compile_one(measure.operand), measure)
                totals[f"o{place}"] = measure, cell
            elif isinstance(measure, Rows) and measure.operand is not None:
                there = fenced(compile_one(measure.operand)).notnull()
                tests[f"o{place}"] = there.ifelse(1, None)
        table = self._in_steps(rows, totals, tests)
        columns = [*totals, *tests]
        counts = {name: table[name].count() for name in columns}
        sums = {
            f"s{place}": expressly(table[f"o{place}"].sum().coalesce(0))
            for place, measure in enumerate(measures)
            if isinstance(measure, Total)
        }
        by_unit = table.group_by(["u", *rows.names]).aggregate(n=table.count(), **counts, **sums)
        by_unit = kept(declared(by_unit, query.keys), query, self.dialect)
        results = {}
        for place, measure in enumerate(measures):
            if isinstance(measure, Rows):
                count = by_unit["n" if measure.operand is None else f"o{place}"]
                results[f"m{place}"] = _capped(count, measure.rows).sum()
            elif isinstance(measure, Total):
                bounded = scaled(by_unit[f"s{place}"], by_unit[f"o{place}"], measure.rows)
                results[f"m{place}"] = bounded.sum()
            else:
                results[f"m{place}"] = by_unit.count()
        return Step(
            table=_by_group(by_unit, rows, units=by_unit.count(), **results), measures=measures
        )

    def _in_steps(
        self, rows: Grouped, numbers: dict[str, tuple[Any, Cell]], others: dict[str, Any]
    ) -> Any:
        """The rows with numbers in whole steps, each computed before it is moved into bounds."""
        table = rows.columns(**{name: cell.value for name, (_, cell) in numbers.items()}, **others)
        whole = {
            name: steps(replace(cell, value=table[name]), measure)
            for name, (measure, cell) in numbers.items()
        }
        return table.mutate(**whole) if whole else table

    def _distinct(
        self,
        query: Query,
        rows: Grouped,
        measure: Distinct,
        compile_one: Callable[[Expression], Cell],
    ) -> Step:
        """Different values: at most so many of each unit, those whose MD5 comes first."""
        import ibis

        table = rows.columns(v=coded(compile_one(measure.operand))).distinct()
        table = kept(declared(table, query.keys), query, self.dialect)
        table = table.filter(table["v"].notnull()).select("u", *rows.names, "v")
        kinds = [
            Cell(value=table[name], kind="integer" if table[name].type().is_integer() else "text")
            for name in ("u", "v")
        ]
        mark = self.dialect.md5(pieces(kinds))
        place = ibis.row_number().over(group_by=["u", *rows.names], order_by=mark)
        ranked = table.mutate(place=place)
        picked = ranked.filter(ranked["place"] < measure.rows)
        return Step(table=_by_group(picked, rows, m0=picked["v"].nunique()), measures=(measure,))

    def _histogram(
        self,
        query: Query,
        rows: Grouped,
        measure: Histogram,
        compile_one: Callable[[Expression], Cell],
    ) -> Step:
        """Rows by value: of a unit with too many, those in the middle of equal stretches."""
        import ibis

        cell = operand(rows.frame, compile_one(measure.operand), measure)
        table = self._in_steps(rows, {"v": (measure, cell)}, {})
        by_unit = table.group_by(["u", *rows.names, "v"]).aggregate(c=table.count())
        by_unit = kept(declared(by_unit, query.keys), query, self.dialect)
        by_unit = by_unit.filter(by_unit["v"].notnull()).select("u", *rows.names, "v", "c")
        group = ["u", *rows.names]
        so_far = by_unit["c"].sum().over(group_by=group, order_by=by_unit["v"], rows=(None, 0))
        everything = by_unit["c"].sum().over(group_by=group)
        ranked = by_unit.mutate(after=expressly(so_far), all=expressly(everything))
        before = ranked["after"] - ranked["c"]
        thin = thinned(before, ranked["after"], ranked["all"], measure.rows)
        picked = ranked.mutate(m0=thin).select(*rows.names, "v", "m0")
        picked = picked.filter(ibis._.m0 > 0)
        total = picked.group_by([*rows.names, "v"]).aggregate(m0=expressly(picked["m0"].sum()))
        return Step(table=total, measures=(measure,))


def _capped(count: Any, most: int) -> Any:
    import ibis

    return ibis.cases((count > most, most), else_=count)


def _by_group(table: Any, rows: Grouped, **results: Any) -> Any:
    whole = {name: expressly(value) for name, value in results.items()}
    if not rows.names:
        return table.aggregate(**whole)
    return table.group_by(rows.names).aggregate(**whole)


def _names(part: Any) -> Iterator[str]:
    """The names of all columns that are mentioned anywhere."""
    if isinstance(part, Column):
        yield part.name
    elif is_dataclass(part):
        for field in fields(part):
            yield from _names(getattr(part, field.name))
    elif isinstance(part, tuple):
        for one in part:
            yield from _names(one)
