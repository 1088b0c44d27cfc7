"""Small private tables in plain Python, and the measures of a query computed slowly from them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from quaestor.curator.answers.outputs import answer_of
from quaestor.curator.kernel import figures
from quaestor.curator.kernel.measures import (
    Distinct,
    JointTotals,
    Measure,
    RowCount,
    Total,
    Units,
    ValueCounts,
)
from quaestor.curator.language.evaluation import evaluate
from quaestor.curator.language.expressions import Aggregated, Column, Keyed
from quaestor.curator.language.query import (
    Aggregate,
    Contribution,
    Key,
    Output,
    Query,
    Scan,
    TopGroups,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.language.expressions import Value
    from quaestor.curator.pricing.offers import Offer

__all__ = ["Exact", "X", "aggregate", "constant", "exact", "query", "release"]

X = Column("x")


@dataclass
class Exact:
    """What an engine would give."""

    groups: list[tuple[Value, ...]]
    values: dict[Measure, list[Any]]
    units: list[int]
    histograms: dict[ValueCounts, list[dict[int, int]]] = field(default_factory=dict)


def release(asked: Query, offered: Offer, table: Exact) -> Answer:
    """The answer of the kernel to exact figures; groups that are left out have nobody in them."""
    private = any(key.values is None for key in asked.keys)
    groups = table.groups
    if not private:
        groups = list(product(*(key.values or () for key in asked.keys)))
    found = {group: at for at, group in enumerate(table.groups)}
    places = [found.get(group) for group in groups]

    def column(values: Sequence[Any], empty: Any) -> list[Any]:
        return [empty if at is None else values[at] for at in places]

    held: dict[Measure, list[Any]] = {
        m: [column(each, 0) for each in v] if isinstance(m, JointTotals) else column(v, 0)
        for m, v in table.values.items()
    }
    held |= {m: column(v, {}) for m, v in table.histograms.items()}
    exact = figures.Exact(
        groups=groups if private else None, units=column(table.units, 0), values=held
    )
    return answer_of(asked, offered, figures.drawn(offered.measurement, exact))


def aggregate(function: Any, **bounds: Any) -> Aggregate:
    """An aggregate of x, or of the rows."""
    if function in {"count", "units"} and "operand" not in bounds:
        return Aggregate(function=function)
    return Aggregate(**{"function": function, "operand": X, "low": 0.0, "high": 10.0} | bounds)


def query(
    *aggregates: Aggregate,
    keys: Sequence[Value] | str | None = "none",
    rows: int = 1,
    groups: int = 1,
    top: int | None = None,
    **rest: Any,
) -> Query:
    """A query by one key (``None``: a private one; "none": without a key), outputs a0, a1, ..."""
    by: tuple[Key, ...] = ()
    if not isinstance(keys, str):
        values = None if keys is None else tuple(keys)
        by = (Key(name="k", expression=Column("k"), kind="integer", values=values),)
    outputs = [Output(name="k", expression=Keyed(0))] if by else []
    outputs += [Output(name=f"a{i}", expression=Aggregated(i)) for i in range(len(aggregates))]
    parts: dict[str, Any] = {
        "dataset": "d",
        "rows": Scan("t"),
        "unit": "u",
        "contribution": Contribution(rows=rows, groups=groups),
        "keys": by,
        "aggregates": aggregates,
        "outputs": tuple(outputs),
        "top": None if top is None else TopGroups(count=top, place=0),
    }
    return Query(**parts | rest)


def constant(offer: Offer, groups: int, numbers: Mapping[type[Measure], int]) -> Exact:
    """The same exact numbers in every group: as many draws of one as one likes."""
    return Exact(
        groups=[(group,) for group in range(groups)],
        values={
            m: [[numbers.get(JointTotals, 0)] * groups for _ in m.totals]
            if isinstance(m, JointTotals)
            else [numbers.get(type(m), 0)] * groups
            for m in offer.measuring.measures
        },
        units=[numbers.get(Units, 1)] * groups,
    )


def exact(asked: Query, measures: Sequence[Measure], table: Sequence[Mapping[str, Value]]) -> Exact:
    """Straight from the words of the measures, for tables whose units keep to their groups."""
    declared = [key.values for key in asked.keys]
    held: dict[tuple[Value, ...], list[Mapping[str, Value]]] = defaultdict(list)
    for row in table:
        held[tuple(evaluate(key.expression, columns=row) for key in asked.keys)].append(row)
    if any(values is None for values in declared):
        groups = sorted(held, key=repr)
    else:
        groups = list(product(*(values or () for values in declared)))
    found = Exact(groups=groups, values={}, units=[_units(held[group]) for group in groups])
    for measure in measures:
        if isinstance(measure, JointTotals):
            found.values[measure] = [
                [_number(total, held[group]) for group in groups] for total in measure.totals
            ]
            continue
        numbers = [_number(measure, held[group]) for group in groups]
        if isinstance(measure, ValueCounts):
            found.histograms[measure] = numbers
        else:
            found.values[measure] = numbers
    return found


def _units(rows: Sequence[Mapping[str, Value]]) -> int:
    return len({row["u"] for row in rows})


def _number(measure: Any, rows: Sequence[Mapping[str, Value]]) -> Any:
    by_unit: dict[Value, list[Mapping[str, Value]]] = defaultdict(list)
    for row in rows:
        by_unit[row["u"]].append(row)
    if isinstance(measure, Units):
        return len(by_unit)
    kept: list[Any] = []
    for own in by_unit.values():
        operand = measure.operand
        values = [1 if operand is None else evaluate(operand, columns=row) for row in own]
        present = [value for value in values if value is not None]
        if isinstance(measure, Distinct):
            present = list(dict.fromkeys(present))
        assert len(present) <= measure.rows, "tables of these tests keep to their bounds"
        kept += present
    if isinstance(measure, RowCount):
        return len(kept)
    if isinstance(measure, Distinct):
        return len(set(kept))
    steps = [min(max(round(v / measure.step), measure.low), measure.high) for v in kept]
    if isinstance(measure, Total):
        return sum(steps)
    return dict(Counter(steps))
