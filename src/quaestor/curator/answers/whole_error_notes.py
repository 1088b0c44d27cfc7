"""What an answer says of its whole error in words: limits, who is beyond them, and remedies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quaestor.curator.answers.whole_intervals import has_whole
from quaestor.curator.kernel.cut_measures import Beyond
from quaestor.curator.language.expressions import Aggregated, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.curator.answers.released_groups import ReleasedGroups
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.offers import Offer
    from quaestor.curator.questions.outer_plan import OuterPlan

__all__ = ["whole_notes"]

_MUCH = 0.05
"""The share of a figure from which on the answer says that much of it was cut."""


def whole_notes(query: Query, offer: Offer, shown: ReleasedGroups) -> Iterator[str]:
    """Once an answer: what the second interval covers, and what neither does."""
    if offer.whole is None:
        return
    unknown = [
        output.name
        for output in query.outputs
        if any(isinstance(node, Aggregated) for node in nodes(output.expression))
        and not has_whole(output.expression, offer.whole.cuts)
    ]
    if unknown:
        yield f"the intervals of {', '.join(unknown)} do not cover what caps and bounds cut"
    if all(cuts is None for cuts in offer.whole.cuts):
        return
    yield f"whole error: {_limits(offer.whole)}{_beyond(offer, shown)}"
    yield "neither interval covers sampling error"
    figures = [
        (output.name, output.expression.place)
        for output in query.outputs
        if isinstance(output.expression, Aggregated)
    ]
    for name, place in figures:
        words = _ranks(place, shown)
        if words is not None:
            yield f"{name}: {words}"
    much = [(name, share) for name, at in figures if (share := _cut(at, shown)) > _MUCH]
    for name, share in much:
        yield f"{name}: at least {100 * share:.2g} % of a group is missing, cut by caps or bounds"
    if much:
        yield (
            "to cut less, the data owner can run  quaestor dataset tune  or declare higher caps or "
            "wider bounds from public knowledge"
        )


def _limits(plan: OuterPlan) -> str:
    if not plan.all_cuts:
        return "nothing can be cut within the outer limits, so it equals the noise interval"
    rows, groups = _counted(plan.caps.rows, "row"), _counted(plan.caps.groups, "group")
    limits = [f"{rows} per person and group", groups]
    limits += [f"values from {each}" for each in plan.bounds]
    limits += [f"{_counted(most, 'row')} of {name} in all" for name, most in plan.total_rows]
    return f"also covers what caps and bounds cut, within the outer limits ({', '.join(limits)})"


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _beyond(offer: Offer, shown: ReleasedGroups) -> str:
    """How many units are beyond the limits, with the reach of its noise."""
    for measure, noised in shown.noised.items():
        if isinstance(measure, Beyond):
            reach = noised.scatter.reach(offer.confidence)
            least, most = (max(float(noised.values[0]) + end, 0.0) for end in (-reach, reach))
            return f"; not covered are people beyond them: {least:,.0f} to {most:,.0f}"
    return ""


def _ranks(place: int, shown: ReleasedGroups) -> str | None:
    lack = shown.missing[place] if shown.missing else None
    if lack is None:
        return None
    return shown.recipes[place].whole_words(shown.noised, lack, confidence=shown.confidence)


def _cut(place: int, shown: ReleasedGroups) -> float:
    """The largest share of a group that is surely missing of what a figure adds up.

    In all groups of all figures together it is wrong with a tenth of the answer's risk.
    """
    shares = [0.0]
    looks = max(1, sum(each.groups for lack in shown.missing for each in lack or ()))
    for each in (shown.missing[place] if shown.missing else None) or ():
        figures = shown.recipes[place].measured(shown.noised, each.cut.inner)
        if figures is None or each.excess is None or not each.cut.grows:
            continue
        surely = each.within((1 - shown.confidence) / (10 * looks))[0] / each.cut.step
        there = np.maximum(figures, 1.0) + surely
        shares.append(float(np.max(surely / there, initial=0.0)))
    return max(shares)
