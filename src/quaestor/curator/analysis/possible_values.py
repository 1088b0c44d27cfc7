"""The values that an expression can have, where they are few and known without looking at data.

What rows are grouped by such an expression has a row for each of them, and needs no selection of
groups that are large enough.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

from quaestor.curator.language.evaluation import evaluate
from quaestor.curator.language.expressions import Case, Column, Constant, Expression
from quaestor.curator.language.trees import children, with_children

if TYPE_CHECKING:
    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.language.expressions import Value

__all__ = ["possible_values"]

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
