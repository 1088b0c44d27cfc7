"""What follows from an account's history: the lines of its burn-down, totals, and a projection."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from quaestor.service.pages.content.charts import StepChart, step_chart

__all__ = ["BurnDown", "Projection", "burn_down", "charges_by", "guarantee_of", "projection"]

_DAY = 86_400.0
_FAR = timedelta(days=36_500)


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnDown:
    """The share that is left after each charge: as accounted, and if epsilons were added up."""

    chart: StepChart
    added_up: tuple[float | None, ...]
    """None from the first release on that has no epsilon of its own; empty if nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Where a budget goes at the pace so far."""

    charges: int
    """About how many more charges of the average size fit."""
    day: str
    """When it would be used up; empty if there is too little history."""


def burn_down(history: dict[str, Any]) -> BurnDown:
    """The two lines of a history."""
    points = history["points"]
    left = [1.0 - point["used"] for point in points]
    added = _added_up(history)
    known = [share for share in added if share is not None]
    lines = [left, known] if known else [left]
    return BurnDown(chart=step_chart(lines), added_up=added if known else ())


def _added_up(history: dict[str, Any]) -> tuple[float | None, ...]:
    """What would be left if epsilons were added up."""
    if "epsilon" not in history["meters"] or not history["epsilon"]:
        return ()
    place = history["meters"].index("epsilon")
    spent = [point["spent"][place] for point in history["points"]]
    return tuple(
        max(0.0, 1.0 - value / history["epsilon"]) if isinstance(value, float) else None
        for value in spent
    )


def projection(history: dict[str, Any]) -> Projection | None:
    """A straight line through the beginning and the last charge; None if there is too little."""
    points = history["points"]
    if len(points) < 2 or not 0.0 < points[-1]["used"] < 1.0:
        return None
    used = points[-1]["used"]
    more = int((1.0 - used) / (used / len(points)))
    first, last = (datetime.fromisoformat(points[place]["time"]) for place in (0, -1))
    seconds = (last - first).total_seconds()
    if seconds < _DAY:
        return Projection(charges=more, day="")
    rest = timedelta(seconds=min(seconds * (1.0 - used) / used, _FAR.total_seconds()))
    return Projection(charges=more, day=(last.astimezone(UTC) + rest).date().isoformat())


def charges_by(entries: list[dict[str, Any]], name: str) -> list[tuple[str, int]]:
    """How many charges there are, by analyst or by dataset; those that were given back aside."""
    counted = Counter(each[name] or "no name given" for each in entries if each["status"] != "void")
    return counted.most_common()


def guarantee_of(promise: str) -> str:
    """The sentences of a promise that say how private all answers together are.

    >>> guarantee_of("Time is divided. All are (1.5, 0.0)-differentially private. More.")
    'All are (1.5, 0.0)-differentially private.'
    """
    sentences = promise.removesuffix(".").split(". ")
    said = [each for each in sentences if "differentially private" in each]
    return ". ".join(said or sentences[:1]) + "."
