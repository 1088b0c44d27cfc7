"""From grouped rows to a query: values of keys, contributions, and what is worth asking.

The last checks before a question may be priced. SQL and the builder share them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quaestor.curator.aggregates import kind_of
from quaestor.curator.analysis.facts import ValueFacts, article
from quaestor.curator.analysis.possible_values import possible_values
from quaestor.curator.kernel.measurement import code_of
from quaestor.curator.language.expressions import (
    Aggregated,
    Column,
    Constant,
    Expression,
    GroupTotal,
    children,
    nodes,
    spell,
    spell_constant,
    with_children,
)
from quaestor.curator.language.query import (
    Aggregate,
    Contribution,
    Filtered,
    Join,
    Key,
    PerUnit,
    Projected,
    Query,
    Relation,
    Scan,
    TopGroups,
)
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.kernel.measurement import Code
    from quaestor.curator.language.expressions import Expression, Kind, Value
    from quaestor.curator.language.query import Aggregate, Output
    from quaestor.curator.questions.scope import Frame

__all__ = [
    "MOST_GROUPS",
    "Parts",
    "describe",
    "finish",
    "has_totals",
    "key_facts",
    "plan_contribution",
    "plan_key",
    "spell_aggregate",
]

MOST_GROUPS = 100_000


def plan_key(name: str, expression: Expression, analysis: Analysis) -> Key:
    """What rows are grouped by, with the values it can have where those are known."""
    facts = analysis.facts(expression)
    if facts.unit:
        raise RefusedQuery(
            f"grouping by {spell(expression)} would make one group per person",
            remedy=(
                "group by a column that people share, or ask for COUNT(DISTINCT "
                f"{spell(expression)})"
            ),
        )
    if isinstance(expression, Constant):
        raise RefusedQuery("grouping by a constant makes one group", remedy="leave GROUP BY out")
    values = possible_values(expression, analysis)
    if facts.kind == "real":
        declared = isinstance(expression, Column) and facts.keys is not None
        if not declared:
            raise RefusedQuery(
                f"{spell(expression)} is a real number and cannot be a group",
                remedy=f"make a histogram: GROUP BY FLOOR({spell(expression)})",
            )
    note = ""
    if values is not None:
        values, note = _as_cells(spell(expression), values, facts.kind)
    if values == ():
        raise RefusedQuery(
            f"the condition excludes all declared values of {spell(expression)}",
            remedy="compare the condition with the values that the catalog declares",
        )
    return Key(name=name, expression=expression, kind=facts.kind, values=values, note=note)


def _as_cells(spelled: str, values: Sequence[Value], kind: Kind) -> tuple[tuple[Value, ...], str]:
    """The values brought to the key's kind, one for each code, and a note on what was left out."""
    found: dict[Code | None, Value] = {}
    never: list[str] = []
    for value in values:
        try:
            code = code_of(value, kind)
        except ValueError:
            never.append(repr(value))
            continue
        found.setdefault(code, code if kind == "integer" else value)
    if not never:
        return tuple(found.values()), ""
    shown = ", ".join(never[:3]) + (", ..." if len(never) > 3 else "")
    return tuple(found.values()), f"{spelled} is {article(kind)}: it is never {shown}"


def key_facts(key: Key) -> ValueFacts:
    """What is known of a key once it is shown."""
    nullable = key.values is None or None in key.values
    return ValueFacts(kind=key.kind, nullable=nullable)


def plan_contribution(
    frame: Frame, keys: Sequence[Key], *, rows: int | None, groups: int | None
) -> Contribution:
    """How much one unit may contribute: as declared, or less where the question says so.

    A unit cannot be in more groups than there are, and is in one where there are no keys.
    """
    if frame.unit is None or frame.contribution is None:
        raise RefusedQuery(
            "all tables of this question are public, so there is nothing to protect",
            remedy="read them directly, without noise and without cost",
        )
    most = frame.contribution
    chosen_rows = _chosen("rows", rows, most.rows)
    chosen_groups = _chosen("groups", groups, most.groups)
    known = math.prod(len(key.values) for key in keys if key.values is not None)
    if all(key.values is not None for key in keys):
        if known > MOST_GROUPS:
            raise RefusedQuery(
                f"the keys have {known:,} combinations, more than {MOST_GROUPS:,}",
                remedy="group by fewer keys, or keep some values only with WHERE key IN (...)",
            )
        chosen_groups = min(chosen_groups, known)
    return Contribution(rows=chosen_rows, groups=chosen_groups)


def _chosen(name: str, value: int | None, most: int) -> int:
    if value is None:
        return most
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise RefusedQuery(
            f"{name} limits how much one person counts, a whole number from 1 to {most:,}",
            remedy="use a smaller number, or ask the data owner to declare more",
        )
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a question says beside its rows."""

    keys: tuple[Key, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[Output, ...]
    having: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None


def finish(frame: Frame, parts: Parts, contribution: Contribution) -> Query:
    """The query. The largest groups are chosen by the exponential mechanism where that fits."""
    parts = _needed(parts)
    declared = all(key.values is not None for key in parts.keys)
    if not parts.aggregates and declared:
        shown = "".join(
            f"; the values of {key.name} are {_shown(key.values)}" for key in parts.keys
        )
        raise RefusedQuery(
            (f"the question does not need the data: its answer is known from the catalog{shown}"),
            remedy="ask for an aggregate, such as COUNT(*)",
        )
    top = _top(parts) if declared else None
    return Query(
        dataset=frame.dataset or "",
        rows=frame.rows,
        unit=frame.unit or "",
        contribution=contribution,
        keys=parts.keys,
        aggregates=parts.aggregates,
        outputs=parts.outputs,
        having=parts.having,
        top=top,
        order=parts.order,
        limit=parts.limit,
    )


def _shown(values: Sequence[Value] | None) -> str:
    """Some values of a key that the catalog declares."""
    few = [spell_constant(Constant(value, "text")) for value in (values or ())[:5]]
    return ", ".join(few + ["..."] * (len(values or ()) > 5))


def _needed(parts: Parts) -> Parts:
    """Without aggregates that nothing is made of: they would cost, and not be seen."""
    order = [expression for expression, _ in parts.order]
    having = [parts.having] if parts.having is not None else []
    roots = [*(output.expression for output in parts.outputs), *having, *order]
    used = {node.place for root in roots for node in nodes(root) if isinstance(node, Aggregated)}
    if len(used) == len(parts.aggregates):
        return parts
    places = {old: new for new, old in enumerate(sorted(used))}
    return replace(
        parts,
        aggregates=tuple(parts.aggregates[place] for place in sorted(used)),
        outputs=tuple(
            replace(output, expression=_moved(output.expression, places))
            for output in parts.outputs
        ),
        having=None if parts.having is None else _moved(parts.having, places),
        order=tuple((_moved(expression, places), down) for expression, down in parts.order),
    )


def has_totals(expression: Expression) -> bool:
    """Whether it adds released values up over groups."""
    return any(isinstance(node, GroupTotal) for node in nodes(expression))


def _moved(expression: Expression, places: dict[int, int]) -> Expression:
    if isinstance(expression, Aggregated):
        return Aggregated(places[expression.place])
    return with_children(expression, [_moved(child, places) for child in children(expression)])


def _top(parts: Parts) -> TopGroups | None:
    """``ORDER BY COUNT(*) DESC LIMIT k`` over declared keys, where k leaves some out."""
    if parts.limit is None or parts.having is not None or len(parts.order) != 1:
        return None
    if any(has_totals(output.expression) for output in parts.outputs):
        return None  # a share of all groups needs all of them
    ((expression, descending),) = parts.order
    groups = math.prod(len(key.values or ()) for key in parts.keys)
    if not descending or not isinstance(expression, Aggregated) or parts.limit >= groups:
        return None
    if not kind_of(parts.aggregates[expression.place].function).ranks:
        return None
    return TopGroups(count=parts.limit, place=expression.place)


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
        case PerUnit():
            return f"the units of {_tables(rows.rows)}"
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
        case Projected() | PerUnit():
            return _conditions(rows.rows)
        case Join():
            return [*_conditions(rows.left), *_conditions(rows.right)]
        case _:
            return []
