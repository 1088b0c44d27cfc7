"""Several questions below each other: one table of all their rows, and one charge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quaestor.curator.language.compound import Compound
from quaestor.curator.questions.compound_plan import check_cells
from quaestor.curator.questions.grouping_sets import MOST_SETS
from quaestor.curator.questions.stored_form import canonical_json
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.curator.language.expressions import Kind
    from quaestor.curator.language.query import Output, Query

__all__ = ["Questioned", "check_parts", "united"]

_NUMBERS = {"integer", "real"}
_END = "put ORDER BY and LIMIT at the end of the whole question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Questioned:
    """What one SELECT asks: a query or, with several grouping sets, several of them.

    ``kinds`` are those of its outputs; None where all that is known of one is that it is NULL.
    """

    asked: Query | Compound
    kinds: tuple[Kind | None, ...]


def check_parts(number: int) -> None:
    """Refuse more questions than may be asked together."""
    if number > MOST_SETS:
        raise RefusedQuery(
            f"there are more than {MOST_SETS} questions between UNION ALL",
            remedy="ask some of them separately",
        )


def united(
    made: Sequence[Questioned],
    order: Callable[[Sequence[Output]], Sequence[tuple[int, bool]]],
    limit: int | None,
) -> Compound:
    """All of them, with the names of the first one's outputs.

    ``order`` gives the places of outputs to sort all rows by, and whether descending.
    """
    parts = [part for each in made for part in _parts(each)]
    queries = _named([query for query, _ in parts])
    _check(queries)
    return Compound(
        parts=queries,
        labels=tuple(label or f"part {at}" for at, (_, label) in enumerate(parts, 1)),
        kinds=_common_kinds(made, queries[0].outputs),
        order=tuple(
            (tuple(query.outputs[place].expression for query in queries), descending)
            for place, descending in order(queries[0].outputs)
        ),
        limit=limit,
        notes=tuple(dict.fromkeys(n for each in made for n in _notes(each))),
    )


def _parts(each: Questioned) -> list[tuple[Query, str]]:
    """The questions of one part, each with a word for it, if it has one."""
    asked = each.asked
    if not isinstance(asked, Compound):
        return [(asked, "")]
    if asked.order or asked.limit is not None:
        raise RefusedQuery(
            "ORDER BY and LIMIT of a part with several grouping sets cannot be kept", remedy=_END
        )
    return list(zip(asked.parts, asked.labels, strict=True))


def _notes(each: Questioned) -> tuple[str, ...]:
    return each.asked.notes if isinstance(each.asked, Compound) else ()


def _named(queries: Sequence[Query]) -> tuple[Query, ...]:
    """The questions with the names of the first one's outputs."""
    names = [output.name for output in queries[0].outputs]
    for query in queries:
        if len(query.outputs) != len(names):
            raise RefusedQuery(
                f"one part of UNION ALL has {len(names)} outputs and another {len(query.outputs)}",
                remedy="select as many in each part, and NULL where there is nothing to show",
            )
    return tuple(
        replace(
            query,
            outputs=tuple(
                replace(output, name=name)
                for output, name in zip(query.outputs, names, strict=True)
            ),
        )
        for query in queries
    )


def _check(queries: Sequence[Query]) -> None:
    datasets = list(dict.fromkeys(query.dataset for query in queries))
    if len(datasets) > 1:
        raise RefusedQuery(
            f"the parts of UNION ALL are about different datasets: {', '.join(datasets)}",
            remedy="ask about each dataset by itself: each has its own account",
        )
    told: dict[str, int] = {}
    for place, query in enumerate(queries, 1):
        before = told.setdefault(canonical_json(query), place)
        if before != place:
            raise RefusedQuery(
                f"parts {before} and {place} of UNION ALL are the same question, which would be "
                "paid for twice",
                remedy="remove one of them",
            )
    check_cells(queries)


def _common_kinds(made: Sequence[Questioned], outputs: Sequence[Output]) -> tuple[Kind, ...]:
    """One kind for each output; whole numbers and reals go together, and NULL with anything."""
    found: list[Kind] = []
    for place, output in enumerate(outputs):
        kinds = {kind for each in made if (kind := each.kinds[place]) is not None}
        if kinds == _NUMBERS:
            kinds = {"real"}
        if len(kinds) > 1:
            listed = " and ".join(sorted(str(kind) for kind in kinds))
            raise RefusedQuery(
                f"output {output.name} is of different kinds in the parts of UNION ALL: {listed}",
                remedy="make them of one kind, as in CAST(x AS TEXT)",
            )
        found += [*kinds] or ["real"]
    return tuple(found)
