"""A query carried out slowly and obviously on lists of rows, without bounding and without noise."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from quaestor.curator.language.evaluation import evaluate
from quaestor.curator.language.query import Filtered, Join, Projected, Relation, Scan

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.query import Aggregate, Query

__all__ = ["answer", "rows_of"]

Row = dict[str, Any]


def rows_of(relation: Relation, tables: dict[str, list[Row]]) -> list[Row]:
    """The rows of a relation."""
    match relation:
        case Scan():
            return tables[relation.table]
        case Filtered():
            rows = rows_of(relation.rows, tables)
            return [row for row in rows if evaluate(relation.condition, columns=row) is True]
        case Projected():
            return [
                {name: evaluate(made, columns=row) for name, made in relation.columns}
                for row in rows_of(relation.rows, tables)
            ]
        case Join():
            return _joined(relation, tables)
        case _:
            raise TypeError(relation)


def _joined(join: Join, tables: dict[str, list[Row]]) -> list[Row]:
    left, right = rows_of(join.left, tables), rows_of(join.right, tables)
    assert not right or not left or not set(left[0]) & set(right[0])
    found = []
    for row in left:
        partners = [
            other
            for other in right
            if all(row[a.name] is not None and row[a.name] == other[b.name] for a, b in join.on)
        ]
        if not partners and join.how == "left":
            partners = [dict.fromkeys(right[0])]
        found += [{**row, **other} for other in partners]
    return found


def _aggregate(aggregate: Aggregate, rows: list[Row], unit: str) -> Any:  # noqa: PLR0911
    operand = aggregate.operand
    if aggregate.function == "units":
        return len({row[unit] for row in rows})
    if operand is None:
        return len(rows)
    values: list[Any] = [
        value for row in rows if (value := evaluate(operand, columns=row)) is not None
    ]
    match aggregate.function:
        case "count":
            return len(values)
        case "distinct":
            return len(set(values))
        case "sum":
            _inside(values, aggregate)
            return sum(values) if values else None
        case "mean":
            _inside(values, aggregate)
            return statistics.fmean(values) if values else None
        case "variance":
            return statistics.variance(values) if len(values) > 1 else None
        case "stddev":
            return statistics.stdev(values) if len(values) > 1 else None
        case _:
            raise TypeError(aggregate)


def _inside(values: list[Any], aggregate: Aggregate) -> None:
    """What is added up lies where the analysis said: else the engine would move it."""
    assert all(aggregate.low <= value <= aggregate.high for value in values)
    assert max(abs(aggregate.low), abs(aggregate.high)) / aggregate.step <= 2**24


def answer(query: Query, tables: dict[str, list[Row]]) -> tuple[list[tuple[Any, ...]], list[Row]]:
    """The outputs of every group that has rows, and the rows that no declared group has."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    left_out = []
    for row in rows_of(query.rows, tables):
        if row[query.unit] is None:
            continue
        key = tuple(evaluate(key.expression, columns=row) for key in query.keys)
        known = all(
            wanted.values is None or value in wanted.values
            for value, wanted in zip(key, query.keys, strict=True)
        )
        if known:
            groups[key].append(row)
        else:
            left_out.append(row)
    if not query.keys and not groups:
        groups[()] = []
    found = []
    for key, rows in groups.items():
        aggregates = [_aggregate(aggregate, rows, query.unit) for aggregate in query.aggregates]

        def value(made: Expression, key: Any = key, released: Any = aggregates) -> Any:
            return evaluate(made, keys=key, aggregates=released)

        if query.having is None or value(query.having) is True:
            found.append(tuple(value(output.expression) for output in query.outputs))
    return found, left_out
