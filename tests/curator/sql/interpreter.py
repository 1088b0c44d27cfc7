"""A query carried out slowly and obviously on lists of rows, without bounding and without noise."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from quaestor.curator.language.evaluation import evaluate
from quaestor.curator.language.query import Filtered, Join, PerUnit, Projected, Relation, Scan

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.query import Aggregate, Query, UnitFigure

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
        case PerUnit():
            return _of_units(relation, tables)
        case Join():
            return _joined(relation, tables)
        case _:
            raise TypeError(relation)


def _of_units(relation: PerUnit, tables: dict[str, list[Row]]) -> list[Row]:
    """The unit is the first column that a sub-query grouped by it has."""
    people: dict[Any, list[Row]] = defaultdict(list)
    unit = relation.columns[0][1].operand
    assert unit is not None
    for row in rows_of(relation.rows, tables):
        people[evaluate(unit, columns=row)].append(row)
    return [
        {name: _of_unit(figure, rows) for name, figure in relation.columns}
        for rows in people.values()
    ]


def _of_unit(figure: UnitFigure, rows: list[Row]) -> Any:
    if figure.operand is None:
        return len(rows)
    found: list[Any] = [evaluate(figure.operand, columns=row) for row in rows]
    values = [value for value in found if value is not None]
    ways: dict[str, Any] = {
        "values": len,
        "different": lambda them: len(set(them)),
        "total": lambda them: sum(them) if them else None,
        "mean": lambda them: statistics.fmean(them) if them else None,
        "least": lambda them: min(them, default=None),
        "greatest": lambda them: max(them, default=None),
    }
    return ways[figure.function](values)


def _joined(join: Join, tables: dict[str, list[Row]]) -> list[Row]:
    left, right = rows_of(join.left, tables), rows_of(join.right, tables)
    if join.unique:
        right = [dict(row) for row in {tuple(row.items()): None for row in right}]
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


def _aggregate(aggregate: Aggregate, rows: list[Row], unit: str) -> Any:  # noqa: C901, PLR0911  # one line a kind
    operand = aggregate.operand
    if aggregate.function == "units":
        some = [r for r in rows if operand is None or evaluate(operand, columns=r) is not None]
        return len({row[unit] for row in some})
    if operand is None:
        return len(rows)
    if aggregate.second is not None:
        return _paired(aggregate, rows)
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
        case "variance_of_all":
            return statistics.pvariance(values) if values else None
        case "stddev_of_all":
            return statistics.pstdev(values) if values else None
        case "stddev":
            return statistics.stdev(values) if len(values) > 1 else None
        case _:
            raise TypeError(aggregate)


def _paired(aggregate: Aggregate, rows: list[Row]) -> Any:
    """A figure of two numbers, of the rows where both have a value."""
    assert aggregate.operand is not None
    assert aggregate.second is not None
    pairs: list[Any] = [
        (evaluate(aggregate.operand, columns=row), evaluate(aggregate.second, columns=row))
        for row in rows
    ]
    both = [pair for pair in pairs if None not in pair]
    assert len(both) == sum(one is not None for one, _ in pairs)  # measures share their rows
    assert len(both) == sum(other is not None for _, other in pairs)
    first, second = [one for one, _ in both], [other for _, other in both]
    ways: dict[str, Any] = {
        "correlation": statistics.correlation,
        "covariance": statistics.covariance,
        "covariance_of_all": lambda a, b: statistics.covariance(a, b) * (len(a) - 1) / len(a),
        "slope": lambda y, x: statistics.linear_regression(x, y).slope,
        "intercept": lambda y, x: statistics.linear_regression(x, y).intercept,
    }
    return ways[aggregate.function](first, second)


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
