"""What is measured to choose the limits of a table, what it costs, and what it is known by.

One histogram of units for each limit, over public bins, each unit in one bin of each: the budget is
divided evenly between them. All are drawn for one charge, as one measurement of the kernel, from
the table as it would be without its bounds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from quaestor.accounting.releases.base import check_real
from quaestor.curator.kernel.measurement import Cells, Measurement
from quaestor.curator.kernel.measures import UnitBins
from quaestor.curator.language.expressions import Aggregated, Column, columns_in
from quaestor.curator.language.query import Contribution, Filtered, Output, Query, Scan
from quaestor.curator.limits.choices import Aim
from quaestor.curator.limits.grids import count_edges, value_edges
from quaestor.curator.pricing.offers import Measuring, Offer
from quaestor.curator.pricing.priced_parts import noisy_bins
from quaestor.curator.pricing.priced_question import Budget, Priced, declared_facts_of
from quaestor.curator.questions.stored_form import to_wire
from quaestor.curator.sql import parse
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.kernel.dated_rows import ChargedBlocks
    from quaestor.curator.kernel.draws import NoisyMeasure
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.query import Relation

__all__ = ["TunePlan", "TunedPart", "bare_query", "loosened", "plan_tune", "price_tune", "tunable"]

_PROVISIONAL = 1e6
"""Bounds that a stated question is read with where there are none yet: they decide nothing."""
_CENTRED = frozenset({"mean", "variance", "stddev"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedPart:
    """One limit that is to be chosen, and the histogram that it is chosen by."""

    limit: str
    """A column's name, ``rows`` or ``groups``."""
    measure: UnitBins


@dataclass(frozen=True, slots=True, kw_only=True)
class TunePlan:
    """Everything that is measured, before it is."""

    table: Table
    rows: Relation
    parts: tuple[TunedPart, ...]
    epsilon: float
    aim: Aim
    question: str | None = None

    @property
    def limits(self) -> tuple[str, ...]:
        """What is to be chosen, each once."""
        return tuple(dict.fromkeys(part.limit for part in self.parts))

    def scales(self) -> tuple[float, ...]:
        """The scale of the noise on each histogram, in units."""
        return tuple(draw.mechanism.scale for draw in self.draws())  # type: ignore[union-attr]

    def draws(self) -> tuple[NoisyMeasure, ...]:
        """What is drawn, each with an even share of the budget."""
        share = Fraction(self.epsilon) / len(self.parts)
        return tuple(noisy_bins(part.measure, share) for part in self.parts)


def loosened(catalog: Catalog, name: str) -> Catalog:
    """The catalog with a table that has no bounds and no cap: what is tuned is read as it is."""
    return replace(
        catalog,
        tables=tuple(_loose(table) if table.name == name else table for table in catalog.tables),
    )


def _loose(table: Table) -> Table:
    columns = tuple(
        replace(column, low=None, high=None, granularity=None)
        if tunable(table, column.name)
        else column
        for column in table.columns
    )
    most = Contribution(rows=1, groups=1)
    return replace(table, columns=columns, contribution=most, total_rows=None, tuned=())


def tunable(table: Table, name: str) -> bool:
    """Whether a column is a number whose bounds can be chosen: keys stay inside their bounds."""
    column = table.column(name)
    return (
        column is not None
        and column.kind in {"integer", "real"}
        and column.keys is None
        and column.name != table.unit
    )


def plan_tune(  # noqa: PLR0913  # what is tuned, and for what
    catalog: Catalog,
    name: str,
    *,
    epsilon: float,
    columns: Sequence[str] = (),
    caps: bool = True,
    question: str | None = None,
    question_epsilon: float | None = None,
) -> TunePlan:
    """What is measured to tune a table, for a stated question or for typical ones.

    Typical questions are sums of each number over the whole table, and counts by each column with
    declared keys, each for ``question_epsilon`` (``epsilon``, if left out).

    Raises:
        InvalidParameter: the table, a column, the question or a budget is not what it should be.
    """
    table = catalog.table(name)
    if table is None or not table.private:
        raise InvalidParameter("table", name, "a private table of the catalog")
    spent = check_real("epsilon", epsilon, low=1e-9, high=1e4)
    wanted = question_epsilon if question_epsilon is not None else spent
    aimed = check_real("question epsilon", wanted, low=1e-9, high=1e4)
    numbers = _numbers(table, columns)
    rows: Relation = Scan(table.name)
    keys: list[tuple[Expression, ...]] = [
        (Column(each.name),)
        for each in table.columns
        if each.keys is not None and each.name != table.unit
    ]
    aim = Aim(epsilon=aimed)
    within: tuple[Expression, ...] = ()
    if question is not None:
        asked = _asked(catalog, table, question)
        rows, within = asked.rows, tuple(key.expression for key in asked.keys)
        keys = [within] if within else []
        numbers = _numbers(table, columns) if columns else _operands(table, asked)
        aim = _aim(asked, aimed)
    parts = [TunedPart(limit=column, measure=_values(table, column)) for column in numbers]
    if caps:
        most = UnitBins(of="rows", edges=count_edges(), keys=within)
        parts.append(TunedPart(limit="rows", measure=most))
        parts += [
            TunedPart(limit="groups", measure=UnitBins(of="groups", edges=count_edges(), keys=by))
            for by in keys
        ]
    if not parts:
        raise InvalidParameter("columns", list(columns), "numbers without keys, or caps as well")
    return TunePlan(
        table=table, rows=rows, parts=tuple(parts), epsilon=spent, aim=aim, question=question
    )


def _numbers(table: Table, columns: Sequence[str]) -> list[str]:
    """The columns that were named; or those without bounds; or, if all have some, all."""
    for name in columns:
        if not tunable(table, name):
            valid = f"a column of numbers of {table.name!r}, without keys, that is not the unit"
            raise InvalidParameter("column", name, valid)
    if columns:
        return list(dict.fromkeys(columns))
    every = [each for each in table.columns if tunable(table, each.name)]
    lacking = [each.name for each in every if each.low is None]
    return lacking or [each.name for each in every]


def _values(table: Table, name: str) -> UnitBins:
    column = table.column(name)
    kind = "real" if column is None else column.kind
    return UnitBins(of="value", edges=value_edges(kind), keys=(Column(name),))


def _asked(catalog: Catalog, table: Table, question: str) -> Query:
    """The question that limits are to be good for, read with provisional bounds."""
    columns = tuple(
        replace(column, low=-_PROVISIONAL, high=_PROVISIONAL, granularity=1.0)
        if tunable(table, column.name)
        else column
        for column in table.columns
    )
    read = replace(table, columns=columns)
    known = replace(
        catalog, tables=tuple(read if t.name == table.name else t for t in catalog.tables)
    )
    asked = parse(question, known)
    below = asked.rows
    while isinstance(below, Filtered):
        below = below.rows
    if below != Scan(table.name):
        valid = f"about {table.name!r} alone, without joins and sub-queries"
        raise InvalidParameter("question", question, valid)
    return asked


def _operands(table: Table, asked: Query) -> list[str]:
    names = [
        name
        for aggregate in asked.aggregates
        if aggregate.operand is not None and aggregate.function != "count_distinct"
        for operand in (aggregate.operand, aggregate.second)
        if operand is not None
        for name in columns_in(operand)
        if tunable(table, name)
    ]
    return list(dict.fromkeys(names))


def _aim(asked: Query, epsilon: float) -> Aim:
    cells = 1
    for key in asked.keys:
        cells *= len(key.values) if key.values is not None else 1
    of_numbers = [each for each in asked.aggregates if each.operand is not None]
    centred = bool(of_numbers) and all(each.function in _CENTRED for each in of_numbers)
    return Aim(epsilon=epsilon, cells=max(cells, 1), centred=centred)


def price_tune(plan: TunePlan, catalog: Catalog, *, blocks: ChargedBlocks | None = None) -> Priced:
    """The plan as a question with a price, as any other."""
    draws = plan.draws()
    table = plan.table
    dataset = table.dataset or table.name
    measurement = Measurement(
        dataset=dataset,
        rows=plan.rows,
        cells=Cells(keys=(), groups=1),
        choice=None,
        draws=cast("Any", draws),
        blocks=blocks,
    )
    offer = Offer(
        measuring=Measuring(measures=(), recipes=(), selects=False),
        measurement=measurement,
        confidence=0.95,
        noise="geometric",
    )
    return Priced(
        query=bare_query(plan),
        budget=Budget(epsilon=plan.epsilon),
        offer=offer,
        account_delta=0.0,
        identity=_identity(plan, measurement, catalog),
        delta=None,
        catalog=catalog,
    )


def bare_query(plan: TunePlan) -> Query:
    """Rows of the table about each unit, and nothing asked of them yet."""
    return Query(
        dataset=plan.table.dataset or plan.table.name,
        rows=plan.rows,
        unit=plan.table.unit or "",
        contribution=Contribution(rows=1, groups=1),
        keys=(),
        aggregates=(),
        outputs=(Output(name="units", expression=Aggregated(0)),),
    )


def _identity(plan: TunePlan, measurement: Measurement, catalog: Catalog) -> str:
    """All that the histograms' law depends on beside the rows; the table without its bounds."""
    loose = loosened(catalog, plan.table.name).table(plan.table.name)
    blocks = measurement.blocks
    told = {
        "version": 1,
        "tune": plan.table.name,
        "rows": to_wire(plan.rows),
        "draws": [to_wire(draw) for draw in measurement.draws],
        "blocks": None if blocks is None else list(blocks.labels),
        "tables": [declared_facts_of(loose)] if loose is not None else [],
    }
    return json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False)
