"""A query in one English sentence, for previews."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.aggregates import kind_of
from quaestor.curator.language.expressions import spell
from quaestor.curator.language.query import Filtered, Join, Projected, Relation, Scan

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.query import Aggregate, Key, Query

__all__ = ["describe", "spell_aggregate"]

_LONGEST = 200


def describe(query: Query) -> str:
    """What is asked, of which rows, by what, and how much of one unit counts."""
    aggregates = [spell_aggregate(aggregate) for aggregate in query.aggregates]
    parts = [_listed(aggregates) if aggregates else "which groups there are"]
    parts.append(f"of {_tables(query.rows)}")
    conditions = [spell(condition) for condition in _conditions(query.rows)]
    if conditions:
        parts.append(f"where {_short(' and '.join(conditions))}")
    if query.keys:
        parts.append(f"by {_listed([_key(key) for key in query.keys])}")
    if query.top is not None:
        parts.append(f"for the {query.top.count} largest groups")
    per = f"{query.contribution.rows} {'row' if query.contribution.rows == 1 else 'rows'}"
    groups = query.contribution.groups
    per += f" in each of {groups} groups" if groups > 1 else ""
    return f"{' '.join(parts)}; of each unit at most {per} count"


def spell_aggregate(aggregate: Aggregate) -> str:
    """An aggregate in SQL."""
    operand = "*" if aggregate.operand is None else _short(spell(aggregate.operand))
    return kind_of(aggregate.function).spell(aggregate, operand)


def _key(key: Key) -> str:
    count = "private values" if key.values is None else f"{len(key.values):,} values"
    return f"{key.name} ({count})"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _tables(rows: Relation) -> str:
    match rows:
        case Scan():
            return rows.table
        case Filtered() | Projected():
            return _tables(rows.rows)
        case Join():
            return f"{_tables(rows.left)} with {_tables(rows.right)}"
        case _:
            return "rows"


def _conditions(rows: Relation) -> list[Expression]:
    match rows:
        case Filtered():
            return [*_conditions(rows.rows), rows.condition]
        case Projected():
            return _conditions(rows.rows)
        case Join():
            return [*_conditions(rows.left), *_conditions(rows.right)]
        case _:
            return []
