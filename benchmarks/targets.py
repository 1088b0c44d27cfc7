"""What we want to reach, held against what was measured."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from benchmarks.comparison import Verdict
from benchmarks.isolation import Measured
from benchmarks.mechanisms import SampledGaussian
from benchmarks.speed import Target, speed_targets
from benchmarks.startup import COMMAND_LINE
from benchmarks.text import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.comparison import Comparison

__all__ = ["targets"]


def targets(rows: Sequence[Comparison], startups: Mapping[str, float]) -> tuple[Target, ...]:
    """Every target, in the order of the report."""
    command_line = startups.get(COMMAND_LINE.name)
    return (
        _slowest(
            "delta of equal releases, up to 1e9 of them, warm: at most 1 ms",
            rows,
            lambda row: _equal_boxes(row) and row.question == "delta",
            1e-3,
        ),
        _slowest(
            "epsilon of equal releases, up to 1e9 of them, warm: at most 10 ms",
            rows,
            lambda row: _equal_boxes(row) and row.question == "epsilon",
            1e-2,
        ),
        _slowest(
            "40 different releases, meeting in the middle: about a second (at most 1.5 s)",
            rows,
            lambda row: row.case.count == len(row.case.groups) == 40,
            1.5,
        ),
        Target(
            goal="the command line from cold: under 0.6 s",
            measured="-" if command_line is None else duration(command_line),
            met=None if command_line is None else command_line < 0.6,
        ),
        _faster(rows),
        _slowest(
            "100,000 steps of DP-SGD: well under a second (at most 0.5 s)",
            rows,
            lambda row: isinstance(row.case.groups[0].mechanism, SampledGaussian),
            0.5,
        ),
        _slowest(
            "one more release after 100,000 different ones: at most 0.1 s",
            rows,
            lambda row: row.question == "one more",
            0.1,
        ),
        *speed_targets(rows),
        _memory(rows),
        _tighter(rows),
    )


def _slowest(
    goal: str, rows: Sequence[Comparison], chosen: Callable[[Comparison], bool], limit: float
) -> Target:
    """The slowest of the chosen rows must be within ``limit`` seconds."""
    ours = [row.ours for row in rows if chosen(row)]
    if not ours:
        return Target(goal=goal, measured="-", met=None)
    warm = [each.warm for each in ours if isinstance(each, Measured)]
    if len(warm) < len(ours):
        return Target(goal=goal, measured="no answer", met=False)
    return Target(goal=goal, measured=f"slowest {duration(max(warm))}", met=max(warm) <= limit)


def _faster(rows: Sequence[Comparison]) -> Target:
    goal = "at least 20 times faster than dp-accounting on 1e5 equal releases"
    ratios = [
        row.ratio
        for row in rows
        if _equal_boxes(row) and row.case.count == 10**5 and row.ratio is not None
    ]
    if not ratios:
        return Target(goal=goal, measured="-", met=None)
    return Target(goal=goal, measured=f"at least {min(ratios):,.0f} times", met=min(ratios) >= 20)


def _equal_boxes(row: Comparison) -> bool:
    return row.case.only_black_boxes and row.case.homogeneous


def _memory(rows: Sequence[Comparison]) -> Target:
    goal = "memory below 300 MB everywhere, imports included"
    used = [(row.ours.memory, row.case.name) for row in rows if isinstance(row.ours, Measured)]
    if not used:
        return Target(goal=goal, measured="-", met=None)
    most, name = max(used)
    return Target(goal=goal, measured=f"{most / 1e6:,.0f} MB ({name})", met=most < 300e6)


def _tighter(rows: Sequence[Comparison]) -> Target:
    goal = "tighter than every sound peer, or equal, everywhere"
    if not rows:
        return Target(goal=goal, measured="-", met=None)
    verdicts = Counter(row.verdict for row in rows)
    measured = "; ".join(
        f"{verdict}: {verdicts[verdict]}" for verdict in Verdict if verdicts[verdict]
    )
    lost = verdicts[Verdict.OPEN] + verdicts[Verdict.FAILED]
    return Target(goal=goal, measured=f"rows: {measured}", met=lost == 0)
