"""The values that an expression can have, where they are few and known without looking at data.

What rows are grouped by such an expression has a row for each of them, and needs no selection of
groups that are large enough.

A condition leaves fewer of them, with narrower bounds: ``WHERE age BETWEEN 40 AND 60`` makes a sum
of ages cheaper, ``WHERE city IN ('Rome', 'Paris')`` declares the cities of a grouping, and ``WHERE
sex IS NOT NULL`` takes the row of the others away.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from quaestor.curator.language.evaluation import evaluate
from quaestor.curator.language.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Like,
    Logic,
    Member,
    Not,
    children,
    columns_in,
    nodes,
    with_children,
)
from quaestor.curator.language.functions import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from quaestor.curator.analysis.facts import ValueFacts
    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.language.expressions import Value

__all__ = ["narrowed", "possible_values"]

_MOST_COMBINED = 10_000
_LONGEST_RANGE = 1_000


def possible_values(expression: Expression, analysis: Analysis) -> tuple[Value, ...] | None:
    """Every value that can be shown, or ``None`` where they are not known or too many.

    A column has its declared keys in their order; everything else is sorted, NULL last.
    """
    if isinstance(expression, Column):
        keys = analysis.facts(expression).keys
        if keys is not None:
            return keys
    return _values(expression, analysis)


def _values(expression: Expression, analysis: Analysis) -> tuple[Value, ...] | None:
    match expression:
        case Constant():
            return (expression.value,)
        case Column():
            keys = analysis.facts(expression).keys
            return keys if keys is not None else _by_facts(expression, analysis)
        case Case():
            return _of_branches(expression, analysis)
        case _:
            found = _combined(expression, analysis)
            return found if found is not None else _by_facts(expression, analysis)


def _of_branches(case: Case, analysis: Analysis) -> tuple[Value, ...] | None:
    """Those of all branches, whether or not their conditions can come true."""
    found: set[Value] = set()
    for part in (*(then for _, then in case.branches), case.otherwise):
        values = _values(part, analysis)
        if values is None:
            return _by_facts(case, analysis)
        found.update(values)
    return _sorted(found)


def _combined(expression: Expression, analysis: Analysis) -> tuple[Value, ...] | None:
    """All combinations of the values of the parts."""
    parts = children(expression)
    lists = []
    for part in parts:
        values = _values(part, analysis)
        if values is None:
            return None
        lists.append(values)
    if not parts or math.prod(len(values) for values in lists) > _MOST_COMBINED:
        return None
    names = [f"part {place}" for place in range(len(parts))]
    small = with_children(expression, [Column(name) for name in names])
    return _sorted(
        {evaluate(small, columns=dict(zip(names, row, strict=True))) for row in product(*lists)}
    )


def _by_facts(expression: Expression, analysis: Analysis) -> tuple[Value, ...] | None:
    facts = analysis.facts(expression)
    found: list[Value]
    if facts.kind == "boolean":
        found = [False, True]
    elif facts.kind == "integer" and facts.bounded and facts.high - facts.low < _LONGEST_RANGE:
        found = list(range(math.ceil(facts.low), math.floor(facts.high) + 1))
    else:
        return None
    return tuple(found) + ((None,) if facts.nullable else ())


def _sorted(values: set[Value]) -> tuple[Value, ...]:
    some = sorted(value for value in values if value is not None)
    return (*some, *((None,) if None in values else ()))


_MOST_EFFORT = 200_000
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


def narrowed(schema: Mapping[str, ValueFacts], condition: Expression) -> dict[str, ValueFacts]:
    """The facts about the rows for which the condition is true."""
    found = dict(schema)
    effort = _MOST_EFFORT
    for part in _conjuncts(condition):
        for name in _never_null(part):
            found[name] = replace(found[name], nullable=False)
        _declare(found, part)
        _bound(found, part)
        effort = _choose(found, part, effort)
    return found


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, Logic) and condition.operator == "and":
        for operand in condition.operands:
            yield from _conjuncts(operand)
    else:
        yield condition


def _never_null(part: Expression) -> frozenset[str]:
    """The columns that have a value wherever the part is true (or false, but not NULL)."""
    if isinstance(part, Not) and isinstance(part.operand, IsNull):
        return _strict(part.operand.operand)
    return _strict(part)


def _strict(expression: Expression) -> frozenset[str]:
    """The columns whose NULL makes the expression NULL."""
    match expression:
        case Column():
            return frozenset({expression.name})
        case Arithmetic() | Comparison() | Not() | Member() | Like() | Cast():
            inside = children(expression)
        case Call() if not FUNCTIONS[expression.function].nulls:
            inside = expression.arguments
        case _:
            return frozenset()
    return frozenset().union(*(_strict(child) for child in inside))


def _declare(found: dict[str, ValueFacts], part: Expression) -> None:
    """A list of values that the analyst wrote declares the keys of a column without any."""
    values: tuple[Value, ...]
    match part:
        case Member(operand=Column(name=name)):
            values = tuple(value.value for value in part.values)
        case Comparison(operator="=", left=Column(name=name), right=Constant(value=value)):
            values = (value,)
        case Column(name=name) | Not(operand=Column(name=name)):
            values = (isinstance(part, Column),)
        case _:
            return
    facts = found[name]
    if facts.keys is None and facts.kind != "real" and not facts.unit:
        found[name] = replace(facts, keys=values)


def _bound(found: dict[str, ValueFacts], part: Expression) -> None:
    match part:
        case Member(operand=Column(name=name)) if found[name].number:
            numbers = [float(value.value) for value in part.values]  # type: ignore[arg-type]
            found[name] = found[name].between(min(numbers), max(numbers))
        case Comparison(left=Column(name=name), right=Constant(value=int() | float() as value)):
            _compare(found, name, part.operator, value)
        case Comparison(left=Constant(value=int() | float() as value), right=Column(name=name)):
            _compare(found, name, _MIRRORED[part.operator], value)


def _compare(found: dict[str, ValueFacts], name: str, operator: str, value: float) -> None:
    facts = found[name]
    if not facts.number:
        return
    whole = facts.kind == "integer"
    low, high = -math.inf, math.inf
    if operator == "=":
        low = high = value
    elif operator in {"<", "<="}:
        high = (
            value if not whole else math.ceil(value) - 1 if operator == "<" else math.floor(value)
        )
    elif operator in {">", ">="}:
        low = value if not whole else math.floor(value) + 1 if operator == ">" else math.ceil(value)
    found[name] = facts.between(low, high)


def _choose(found: dict[str, ValueFacts], part: Expression, effort: int) -> int:
    """Of declared keys only those remain that the part is true of; what effort is left then.

    Where that is too much work all of them stay, which shows more groups than needed.
    """
    columns = columns_in(part)
    if len(columns) != 1:
        return effort
    (name,) = columns
    keys = found[name].keys
    if keys is None or (work := len(keys) * _size(part)) > effort:
        return effort
    kept = tuple(key for key in keys if evaluate(part, columns={name: key}) is True)
    found[name] = replace(found[name], keys=kept)
    return effort - work


def _size(part: Expression) -> int:
    return sum(len(node.values) if isinstance(node, Member) else 1 for node in nodes(part))
