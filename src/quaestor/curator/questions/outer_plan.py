"""What outer limits make of a question: bounds of its operands, and how its rows may differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quaestor.curator.aggregates import kind_of
from quaestor.curator.aggregates.aggregate_kind import OfNumbers, total_of
from quaestor.curator.aggregates.whole_error import (
    Cut,
    OuterRows,
    cut_of,
    largest_sum,
    outer_measure,
)
from quaestor.curator.analysis.facts import declared_facts
from quaestor.curator.analysis.possible_values import narrowed
from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.catalog.model import outer_times
from quaestor.curator.kernel.cut_measures import Beyond
from quaestor.curator.kernel.measures import Total
from quaestor.curator.kernel.paired_rows import keeps
from quaestor.curator.kernel.relations import MOST_ROWS
from quaestor.curator.language.expressions import (
    Arithmetic,
    Case,
    Column,
    Constant,
    columns_in,
)
from quaestor.curator.language.query import (
    Contribution,
    Filtered,
    Join,
    PerUnit,
    Projected,
    Scan,
    Union,
)
from quaestor.errors import QuaestorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from quaestor.curator.analysis.facts import ValueFacts
    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.query import Aggregate, Query, Relation

    Listed = tuple[tuple[Counted, float], ...]

__all__ = ["OuterPlan", "outer_plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterPlan:
    """What limits cut of a question: by aggregate, the measures that lack something.

    None for aggregates whose whole error is not known. ``caps`` are the outer limits of a unit,
    ``bounds`` those of the operands, in words.
    """

    caps: Contribution
    cuts: tuple[tuple[Cut, ...] | None, ...]
    bounds: tuple[str, ...]
    beyond: Beyond
    """Who is beyond the limits."""
    total_rows: tuple[tuple[str, int], ...] = ()
    """How many rows of a unit are kept of each table, where they are capped."""

    @property
    def all_cuts(self) -> tuple[Cut, ...]:
        """Every measure that lacks something, once."""
        listed = (cut for cuts in self.cuts if cuts is not None for cut in cuts)
        return tuple(cut for cut in dict.fromkeys(listed) if cut.measures)


def outer_plan(
    query: Query, catalog: Catalog, *, cuts_of: Mapping[int, Listed] | None = None
) -> OuterPlan | None:
    """What the outer limits of a question's tables make of it; no data are touched.

    None where nothing is known of it: figures of each unit's own rows have limits of their own.
    ``cuts_of`` has what limits cut of aggregates, by their places, where that is not as their kinds
    say.
    """
    if _per_unit(query.rows):
        return None
    rows = _rows(query.rows, catalog)
    private = [table for table in _tables(query.rows, catalog) if table.private]
    caps = Contribution(
        rows=max(table.outer_caps.rows for table in private),
        groups=max(table.outer_caps.groups for table in private),
    )
    keys = [columns_in(key.expression) for key in query.keys]
    moved = rows.moved or any(name in rows.touched for names in keys for name in names)
    same = not moved and len(private) == 1 and private[0].total_rows is None
    cells, counted = _cells(query), query.contribution
    groups = max(caps.groups if cells is None else min(caps.groups, cells), counted.groups)
    drops = (cells is None or cells > counted.groups) and (groups > counted.groups or moved)
    outer = OuterRows(most=max(caps.rows, counted.rows), same=same, moved=moved, drops=drops)
    cuts: list[tuple[Cut, ...] | None] = []
    words: dict[str, None] = {}
    sums: dict[Total, int] = {}
    for place, aggregate in enumerate(query.aggregates):
        bounds = _bounds(aggregate, rows.schema)
        kind = kind_of(aggregate.function)
        listed = (cuts_of or {}).get(place) or kind.cuts(aggregate, counted.rows)
        if bounds is None or listed is None:
            cuts.append(None)
            continue
        held = replace(outer, most=1) if kind.once else outer
        if aggregate.operand is not None and not _follows(aggregate.operand, rows.touched):
            held = replace(held, same=False, moved=True)
        cuts.append(tuple(cut_of(each, held, bounds, centre=centre) for each, centre in listed))
        if any(isinstance(each, Total) for each, _ in listed):
            sums.update(_sum(aggregate, counted.rows, outer.most, bounds))
            words[f"{bounds[0]:g} to {bounds[1]:g}"] = None
    return OuterPlan(
        caps=Contribution(rows=outer.most, groups=groups),
        cuts=tuple(cuts),
        bounds=tuple(words),
        beyond=Beyond(rows=outer.most, totals=tuple(sums), most=tuple(sums.values())),
        total_rows=_total_rows(private),
    )


def _per_unit(relation: Relation) -> bool:
    match relation:
        case PerUnit():
            return True
        case Filtered() | Projected():
            return _per_unit(relation.rows)
        case Join():
            return _per_unit(relation.left) or _per_unit(relation.right)
        case Union():
            return any(map(_per_unit, relation.parts))
    return False


def _total_rows(private: list[Table]) -> tuple[tuple[str, int], ...]:
    """How many rows of a unit count at all under outer limits, of tables where that is limited."""
    times = outer_times(private, most=MOST_ROWS)
    capped = [table for table in private if len(private) > 1 or table.total_rows is not None]
    return tuple({table.name: table.total_cap(times=times) for table in capped}.items())


def _sum(
    aggregate: Aggregate, rows: int, most: int, bounds: tuple[float, float]
) -> dict[Total, int]:
    """The sum of an operand under outer limits, and the most that a unit may have of it."""
    inner = total_of(OfNumbers.steps(aggregate), rows)
    outer, times = outer_measure(inner, most, bounds)
    assert isinstance(outer, Total)  # noqa: S101  # as the inner one is
    return {outer: largest_sum(inner, outer, times) // times + 1}


def _cells(query: Query) -> int | None:
    number = 1
    for key in query.keys:
        if key.values is None:
            return None
        number *= len(key.values)
    return number


def _bounds(aggregate: Aggregate, schema: Mapping[str, ValueFacts]) -> tuple[float, float] | None:
    """The bounds of an operand under outer limits; None where there are none."""
    if aggregate.operand is None:
        return aggregate.low, aggregate.high
    try:
        found = kind_of(aggregate.function).plan(
            aggregate.operand, Analysis(schema), probability=aggregate.probability
        )
    except QuaestorError:  # so far out that nothing is certain any more
        return None
    return min(found.low, aggregate.low), max(found.high, aggregate.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """What is known of rows under outer limits.

    ``touched`` are columns whose values outer bounds may change, with their inner bounds if they
    are as they were read; ``moved`` says that there may be other rows because of them.
    """

    schema: Mapping[str, ValueFacts]
    touched: Mapping[str, tuple[float, float] | None]
    moved: bool = False


def _rows(relation: Relation, catalog: Catalog) -> _Rows:
    match relation:
        case Scan():
            return _scan(relation, catalog)
        case Filtered():
            below = _rows(relation.rows, catalog)
            moved = below.moved or not keeps(relation.condition, below.touched)
            schema = narrowed(below.schema, relation.condition)
            return replace(below, schema=schema, moved=moved)
        case Projected():
            below = _rows(relation.rows, catalog)
            analysis = Analysis(below.schema)
            return replace(
                below,
                schema={name: analysis.facts(made) for name, made in relation.columns},
                touched={
                    name: below.touched[made.name] if isinstance(made, Column) else None
                    for name, made in relation.columns
                    if columns_in(made) & below.touched.keys()
                },
            )
        case Join():
            return _joined(relation, catalog)
        case Union():
            parts = [_rows(part, catalog) for part in relation.parts]
            return _Rows(
                schema=parts[0].schema,
                touched={name: None for part in parts for name in part.touched},
                moved=True,
            )
    raise TypeError(type(relation).__name__)


def _scan(relation: Scan, catalog: Catalog) -> _Rows:
    table = catalog.table(relation.table)
    assert table is not None  # noqa: S101  # it was planned
    outer = {column.name: column.outer for column in table.columns}
    return _Rows(
        schema={
            name: declared_facts(facts, unit=name == table.unit) for name, facts in outer.items()
        },
        touched={
            column.name: (column.low, column.high)
            for column in table.columns
            if table.private and column.low is not None and column.high is not None
            if (column.low, column.high) != (outer[column.name].low, outer[column.name].high)
        },
    )


def _follows(operand: Expression, touched: Mapping[str, tuple[float, float] | None]) -> bool:
    """Whether an operand of values inside inner bounds is, surely, itself inside its own bounds.

    It is where it rises, or falls, with one column. What is told apart by a value, or comes of two
    of them, may be anything: ``CASE WHEN age > 200 THEN 0 ELSE 1 END`` is one for all who count.
    """
    if isinstance(operand, Column) or not columns_in(operand) & touched.keys():
        return True
    match operand:
        case Arithmetic(operator="+" | "-" | "*" | "/", left=below, right=Constant()):
            return _follows(below, touched)
        case Arithmetic(operator="+" | "-" | "*", left=Constant(), right=below):
            return _follows(below, touched)
        case Case(branches=((condition, below),), otherwise=Constant(value=None)):
            return keeps(condition, touched) and _follows(below, touched)
    return False


def _joined(relation: Join, catalog: Catalog) -> _Rows:
    left, right = _rows(relation.left, catalog), _rows(relation.right, catalog)
    on = any(a.name in left.touched or b.name in right.touched for a, b in relation.on)
    private = any(table.private for table in _tables(relation.right, catalog))
    theirs = right.schema
    if relation.how == "left":
        theirs = {name: replace(facts, nullable=True) for name, facts in theirs.items()}
    return _Rows(
        schema={**left.schema, **theirs},
        touched={**left.touched, **right.touched},
        moved=left.moved or right.moved or on or (relation.how == "left" and private),
    )


def _tables(relation: Relation, catalog: Catalog) -> Iterator[Table]:
    match relation:
        case Scan():
            if (table := catalog.table(relation.table)) is not None:
                yield table
        case Filtered() | Projected():
            yield from _tables(relation.rows, catalog)
        case Join():
            yield from _tables(relation.left, catalog)
            yield from _tables(relation.right, catalog)
        case Union():
            for part in relation.parts:
                yield from _tables(part, catalog)
