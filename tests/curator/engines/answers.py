"""What an engine says and what the oracle says, in one form."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.engine import _names
from quaestor.curator.kernel.draws import NoisyMeasure, NoisyUnits
from quaestor.curator.kernel.figures import gathered
from quaestor.curator.kernel.measurement import Measurement
from quaestor.curator.kernel.measures import JointTotals, Units
from quaestor.curator.kernel.question_statements import statements_of
from quaestor.curator.kernel.relations import Relations
from quaestor.curator.pricing.offers import cells_of
from quaestor.mechanisms import Geometric, PartitionSelection
from tests.curator.engines import oracle
from tests.curator.engines.data import CATALOG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.engines import Engine
    from quaestor.curator.kernel.figures import Exact
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.query import Query

__all__ = ["Answer", "answer", "in_order", "measured", "measurement_of", "statements", "wanted"]

Answer = tuple[list[Any], list[int], dict["Measure", Any]]


def statements(engine: Engine, query: Query, measures: Sequence[Measure]) -> Any:
    """The kernel's statements for a query and measures, without noise."""
    cells = cells_of(query)
    names = frozenset(_names((query, tuple(measures))))
    relations = Relations(table=engine.catalog.table, database=engine._quiet, wanted=names)
    if relations.private_tables(query.rows) > 1:
        relations = Relations(
            table=engine.catalog.table, database=engine._quiet, wanted=names, capped=True
        )
    return statements_of(relations.rows(query.rows), cells, measures, relations.sql)


def measurement_of(query: Query, *measures: Measure) -> Measurement:
    """A measurement with some noise on each measure."""
    cells = cells_of(query)
    spread = min(cells.groups, cells.count or cells.groups)
    choice = None
    if cells.count is None:
        chosen = PartitionSelection(scale=1.0, threshold=20, contributions=spread)
        choice = NoisyUnits(measure=Units(), mechanism=chosen)
    draws = tuple(
        NoisyMeasure(
            measure=measure,
            mechanism=Geometric(
                scale=1.0,
                sensitivity=measure.sensitivity
                if measure.sensitivity <= 2**16
                else -(-measure.sensitivity // 2**16),
            ),
            spread=spread,
            grain=2**16 if measure.sensitivity > 2**16 else 1,
        )
        for measure in measures
    )
    return Measurement(
        dataset=query.dataset, rows=query.rows, cells=cells, choice=choice, draws=draws
    )


def measured(engine: Engine, query: Query, measures: Sequence[Measure]) -> Exact:
    """The exact figures of a query, and its units, whether or not a measure needs them."""
    made = statements(engine, query, list(dict.fromkeys([*measures, Units()])))
    return gathered(cells_of(query), [(each, engine._quiet.rows(each.sql)) for each in made])


def answer(engine: Engine, query: Query, measures: Sequence[Measure]) -> Answer:
    """Groups, units, and the column of every measure, as the engine has them."""
    found = measured(engine, query, measures)
    if found.groups is None:
        groups: list[Any] = list(product(*(key.values or () for key in query.keys)))
    else:
        groups = [
            tuple(
                value if key.values is None else key.values[int(value or 0)]
                for key, value in zip(query.keys, group, strict=True)
            )
            for group in found.groups
        ]
    return groups, found.units, {one: _by_group(one, found.values[one]) for one in measures}


def _by_group(measure: Measure, column: list[Any]) -> list[Any]:
    """The figure of every group; of totals with a joint bound, all of them."""
    return list(zip(*column, strict=True)) if isinstance(measure, JointTotals) else column


def in_order(found: Answer) -> Answer:
    """The same with groups sorted by how they print."""
    groups, units, columns = found
    order = sorted(range(len(groups)), key=lambda at: repr(groups[at]))
    return (
        [groups[at] for at in order],
        [units[at] for at in order],
        {measure: [column[at] for at in order] for measure, column in columns.items()},
    )


def wanted(
    query: Query, measures: Sequence[Measure], data: dict[str, list[dict[str, Any]]]
) -> Answer:
    """The same as the definitions have it."""
    groups, units, columns = oracle.measured(query, measures, CATALOG, data)
    return groups, units, dict(zip(measures, columns, strict=True))
