"""From released figures to an answer: aggregates, outputs, HAVING, ORDER BY, LIMIT.

Everything here is computed of what the kernel drew, and of the question: no exact figure is seen.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.curator.aggregates import Noised
from quaestor.curator.answers.answer import Answer
from quaestor.curator.answers.outputs import ReleasedGroups, columns_of
from quaestor.curator.kernel.draws import NoisyTop, NoisyUnits
from quaestor.curator.pricing.scatter import Scattered

if TYPE_CHECKING:
    from quaestor.curator.kernel.figures import Released
    from quaestor.curator.language.expressions import Value
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.offers import Offer

    Group = tuple[Value, ...]

__all__ = ["answer_of"]


def answer_of(query: Query, offer: Offer, released: Released, *, sql: str | None = None) -> Answer:
    """The answer that released figures make."""
    groups, order = _groups(query, released)
    noised = {
        draw.measure: Noised(values=figures[order], scatter=Scattered(draw))
        for draw, figures in released.figures.items()
    }
    shown = ReleasedGroups(
        groups=groups,
        noised=noised,
        recipes=offer.measuring.recipes,
        confidence=offer.confidence,
    )
    return Answer(
        dataset=query.dataset,
        columns=columns_of(query, shown),
        confidence=offer.confidence,
        releases=offer.releases,
        notes=(*_notes(offer), *(key.note for key in query.keys if key.note)),
        sql=sql,
    )


def _groups(query: Query, released: Released) -> tuple[list[Group], Any]:
    """The keys of the groups that are shown, and their order among the released ones."""
    if released.groups is None:
        declared: list[Group] = list(product(*(key.values or () for key in query.keys)))
        shown = [declared[place] for place in released.places.tolist()]
        return shown, np.arange(len(shown))
    named = [_named(query, group) for group in released.groups]
    order = sorted(range(len(named)), key=lambda at: [_sortable(value) for value in named[at]])
    return [named[at] for at in order], np.array(order, np.intp)


def _named(query: Query, group: Group) -> Group:
    """A private group's keys: those that are declared come as places in their list."""
    return tuple(
        value if key.values is None else key.values[int(value or 0)]
        for key, value in zip(query.keys, group, strict=True)
    )


def _sortable(value: Value) -> tuple[bool, bool, Any]:
    """Numbers in their order, then texts, then NULL: an order of the groups' names alone."""
    if value is None:
        return (True, False, 0)
    return (False, isinstance(value, str), value)


def _notes(offer: Offer) -> tuple[str, ...]:
    notes = []
    if isinstance(offer.choice, NoisyUnits):
        notes.append(
            f"only groups with a noisy number of units from {offer.choice.mechanism.threshold} on "
            "are shown"
        )
    if isinstance(offer.choice, NoisyTop):
        notes.append("the groups were chosen by the exponential mechanism")
    notes += [
        f"{expected.name}: {expected.words}"
        for expected in offer.expected
        if expected.standard_error is None
    ]
    return tuple(notes)
