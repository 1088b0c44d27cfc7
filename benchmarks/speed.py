"""Speed at equal tightness: every question's fastest peer that is worth comparing with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.isolation import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.comparison import Comparison

__all__ = ["Target", "fastest_equal", "slower_than_wanted", "speed_targets"]

_EVERYWHERE, _MANY = 5, 50  # times faster


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A goal, what was measured, and whether that is enough; ``None`` if it was not measured."""

    goal: str
    measured: str
    met: bool | None


def speed_targets(rows: Sequence[Comparison]) -> tuple[Target, ...]:
    """Everywhere, and where a peer needs one transform for every release."""
    everywhere = (
        f"at equal tightness, at least {_EVERYWHERE} times faster than any peer, everywhere"
    )
    return (
        _faster(everywhere, rows, _EVERYWHERE),
        _faster(
            f"the same, at least {_MANY} times on 1,000 different releases of four kinds",
            [row for row in rows if _different(row, 1_000) and not row.case.only_black_boxes],
            _MANY,
        ),
        _faster(
            f"the same, at least {_MANY} times on 10,000 different black boxes",
            [row for row in rows if _different(row, 10_000)],
            _MANY,
        ),
    )


def fastest_equal(rows: Sequence[Comparison]) -> Comparison | None:
    """Of rows with one question: the fastest peer that is equally tight, or else the tightest."""
    answered = [row for row in rows if row.gap is not None and math.isfinite(row.gap)]
    equal = [row for row in answered if row.equally_tight]
    if equal:
        return min(equal, key=lambda row: row.equal_ratio or math.inf)
    return min(answered, key=lambda row: abs(row.gap or 0.0), default=None)


def slower_than_wanted(rows: Sequence[Comparison]) -> tuple[str, ...]:
    """Each question that misses its target for speed, and why, in one line."""
    chosen = ((row, row.equal_ratio) for row in _compared(rows))
    return tuple(
        f"{_question(row)}: {ratio:.2g} times; {row.case.why_slow or 'not yet known why'}"
        for row, ratio in chosen
        if ratio is not None and ratio < (_MANY if _is_of_many(row) else _EVERYWHERE)
    )


def _is_of_many(row: Comparison) -> bool:
    four_kinds = _different(row, 1_000) and not row.case.only_black_boxes
    return four_kinds or _different(row, 10_000)


def _compared(rows: Sequence[Comparison]) -> list[Comparison]:
    """Of every question the row that counts."""
    questions: dict[tuple[str, str], list[Comparison]] = {}
    for row in rows:
        asked = row.case.name, row.case.asked(row.question)
        questions.setdefault(asked, []).append(row)
    return [row for row in map(fastest_equal, questions.values()) if row is not None]


def _faster(goal: str, rows: Sequence[Comparison], times: float) -> Target:
    for row in rows:
        if not isinstance(row.ours, Measured):
            return Target(goal=goal, measured=f"no answer: {row.case.name}", met=False)
    chosen = _compared(rows)
    ratios = sorted(
        (row.equal_ratio, _question(row)) for row in chosen if row.equal_ratio is not None
    )
    if not ratios:
        return Target(goal=goal, measured="-", met=None)
    below = [f"{ratio:.2g} ({name})" for ratio, name in ratios if ratio < times]
    measured = f"{len(below)} of {len(ratios)} below: {'; '.join(below)}"
    if not below:
        measured = f"at least {ratios[0][0]:,.0f} times"
    return Target(goal=goal, measured=measured, met=not below)


def _different(row: Comparison, count: int) -> bool:
    return row.case.count == len(row.case.groups) == count


def _question(row: Comparison) -> str:
    return f"{row.case.name}, {row.case.asked(row.question)}"
