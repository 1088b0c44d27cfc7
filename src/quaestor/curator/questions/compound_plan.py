"""Several questions that are asked together: grouping sets, and the parts of a UNION ALL.

Each part is a question of its own, with its own cells, contributions and noise. They are priced
together, charged at once, and answered all or none.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from quaestor.curator.language.compound import Compound
from quaestor.curator.questions.plan import MOST_GROUPS, describe, has_totals
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.curator.language.expressions import Kind
    from quaestor.curator.language.query import Query
    from quaestor.curator.questions.plan import Parts

__all__ = ["check_cells", "describe_question", "together"]

_FEW = 3


def together(
    full: Parts,
    sets: Sequence[Parts],
    kinds: Sequence[Kind | None],
    finished: Callable[[Parts], Query],
) -> Query | Compound:
    """The question with one part a grouping set; a single set is an ordinary question.

    ``full`` is the question as if all keys were in one set: names of outputs are as there.
    """
    names = [output.name for output in full.outputs]
    named = [
        replace(
            parts,
            outputs=tuple(
                replace(output, name=name)
                for output, name in zip(parts.outputs, names, strict=True)
            ),
        )
        for parts in sets
    ]
    if len(named) == 1:
        return finished(named[0])
    shown = [output.expression for output in full.outputs]
    if any(has_totals(each) for each in (*shown, *(by for by, _ in full.order))):
        raise RefusedQuery(
            "SUM(...) OVER beside several grouping sets would add subtotals up too",
            remedy="ask for shares with a plain GROUP BY, and for subtotals by ROLLUP without OVER",
        )
    made = [finished(replace(parts, limit=None)) for parts in named]
    check_cells(made)
    order = tuple(
        (tuple(query.order[place][0] for query in made), descending)
        for place, (_, descending) in enumerate(full.order)
    )
    return Compound(
        parts=tuple(replace(query, order=()) for query in made),
        labels=tuple(_label(query) for query in made),
        kinds=tuple(kind or "real" for kind in kinds),
        order=order,
        limit=full.limit,
        notes=(_note(full, sets),),
    )


def _label(query: Query) -> str:
    keys = ", ".join(key.name for key in query.keys)
    return f"by {keys}" if keys else "in all"


def _note(full: Parts, sets: Sequence[Parts]) -> str:
    absent = [
        key.name
        for key in full.keys
        if any(key.expression not in {other.expression for other in parts.keys} for parts in sets)
    ]
    names = ", ".join(absent)
    grouping = "each" if len(absent) > 1 else absent[0]
    return (
        f"subtotals: NULL in {names} stands for all of its values in rows where GROUPING of "
        f"{grouping} is 1; each grouping set is measured by itself, so that its rows need not add "
        "up to those of another"
    )


def check_cells(parts: Sequence[Query]) -> None:
    """Refuse more declared groups in all parts together than one question may have."""
    cells = sum(
        math.prod(len(key.values) for key in query.keys if key.values is not None)
        for query in parts
    )
    if cells > MOST_GROUPS:
        raise RefusedQuery(
            f"all parts together have {cells:,} groups, more than {MOST_GROUPS:,}",
            remedy="group by fewer keys, or keep some values only with WHERE key IN (...)",
        )


def describe_question(asked: Query | Compound) -> str:
    """What is asked, in words; of several parts the first ones."""
    if not isinstance(asked, Compound):
        return describe(asked)
    shown = [describe(query) for query in asked.parts[:_FEW]]
    more = len(asked.parts) - _FEW
    rest = [f"and {more} more"] if more > 0 else []
    return f"{len(asked.parts)} questions together: " + " | ".join([*shown, *rest])
