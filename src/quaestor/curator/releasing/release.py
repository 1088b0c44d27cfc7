"""From exact measures to an answer: the only place where noise meets data.

What is drawn is what the offer says, no more. Everything after the draws (aggregates, outputs,
HAVING, ORDER BY, LIMIT) is computed from released figures alone. Whatever the data are, the same
things are drawn in the same order, and nothing is refused: the number of rows of an answer is
public (declared keys), or was itself released (private groups, HAVING).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from quaestor.curator.answers.answer import Answer
from quaestor.curator.pricing.choices import NoisyQuantile, NoisyTop, NoisyUnits
from quaestor.curator.pricing.draws import NoisyMeasure
from quaestor.curator.pricing.recipes import Noised
from quaestor.curator.releasing.outputs import ReleasedGroups, columns_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from quaestor.curator.language.expressions import Value
    from quaestor.curator.measures import Histogram, Measure
    from quaestor.curator.pricing.offers import Offer
    from quaestor.curator.query import Query

    Group = tuple[Value, ...]

__all__ = ["ExactMeasures", "release"]


class ExactMeasures(Protocol):
    """What an engine computed: private. Groups that are left out have nobody in them."""

    @property
    def groups(self) -> Sequence[Group]:
        """The values of the keys, one tuple a group."""

    @property
    def values(self) -> Mapping[Measure, Sequence[int]]:
        """One whole number a group for each measure but histograms."""

    @property
    def units(self) -> Sequence[int]:
        """How many units each group has."""

    @property
    def histograms(self) -> Mapping[Histogram, Sequence[Mapping[int, int]]]:
        """Counts by value, in steps, one mapping a group."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The groups that are shown, where they are among the measured ones (-1: nowhere)."""

    groups: list[Group]
    places: NDArray[np.intp]
    units: NDArray[np.int64] | None = None


def release(
    query: Query, offer: Offer, measured: ExactMeasures, *, sql: str | None = None
) -> Answer:
    """Draw what was offered, and make the answer of it."""
    chosen = _choose(query, offer, measured)
    noised = {draw.measure: _draw(draw, chosen, measured) for draw in offer.draws}
    if isinstance(offer.choice, NoisyUnits) and chosen.units is not None:
        noised[offer.choice.measure] = Noised(values=chosen.units, scatter=offer.choice)
    released = ReleasedGroups(
        groups=chosen.groups,
        noised=noised,
        recipes=offer.measuring.recipes,
        confidence=offer.confidence,
    )
    return Answer(
        dataset=query.dataset,
        columns=columns_of(query, released),
        confidence=offer.confidence,
        releases=offer.releases,
        notes=_notes(offer),
        sql=sql,
    )


def _choose(query: Query, offer: Offer, measured: ExactMeasures) -> _Chosen:
    if isinstance(offer.choice, NoisyUnits):
        return _choose_private(offer.choice, measured)
    declared = [key.values or () for key in query.keys]
    groups: list[Group] = list(product(*declared))
    found = {group: place for place, group in enumerate(measured.groups)}
    places = np.array([found.get(group, -1) for group in groups], np.intp)
    if isinstance(offer.choice, NoisyTop):
        scores = _taken(measured.values[offer.choice.measure], places)
        best = offer.choice.mechanism.release(scores)
        return _Chosen([groups[place] for place in best], places[best])
    return _Chosen(groups, places)


def _choose_private(choice: NoisyUnits, measured: ExactMeasures) -> _Chosen:
    counts: dict[Hashable, int] = {
        (place, group): units
        for place, (group, units) in enumerate(zip(measured.groups, measured.units, strict=True))
        if units > 0
    }
    shown = choice.mechanism.release(counts)
    in_order = sorted(shown.items(), key=lambda entry: [_sortable(v) for v in entry[0][1]])
    return _Chosen(
        [group for (_, group), _ in in_order],
        np.array([place for (place, _), _ in in_order], np.intp),
        np.array([units for _, units in in_order], np.int64),
    )


def _sortable(value: Value) -> tuple[bool, bool, Any]:
    """Numbers in their order, then texts, then NULL: an order of the groups' names alone."""
    if value is None:
        return (True, False, 0)
    return (False, isinstance(value, str), value)


def _draw(draw: Any, chosen: _Chosen, measured: ExactMeasures) -> Noised:
    if isinstance(draw, NoisyQuantile):
        histograms = measured.histograms[draw.measure.histogram]
        empty: Mapping[int, int] = {}
        drawn = [
            draw.mechanism.release(histograms[place] if place >= 0 else empty)
            for place in chosen.places.tolist()
        ]
        return Noised(values=np.array(drawn, np.int64), scatter=draw)
    assert isinstance(draw, NoisyMeasure)  # noqa: S101  # offers draw nothing else
    exact = _taken(measured.values[draw.measure], chosen.places)
    return Noised(values=draw.draw(exact), scatter=draw)


def _taken(values: Sequence[int], places: NDArray[np.intp]) -> NDArray[np.int64]:
    """The values at these places, 0 where there is none."""
    held = np.append(np.asarray(values, np.int64), 0)  # place -1 is the one at the end
    taken: NDArray[np.int64] = held[places]
    return taken


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
