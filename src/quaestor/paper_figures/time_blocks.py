"""What a person loses over time: all blocks composed, against at most a few that they are in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quaestor.accounting.membership.time_blocks import person_total
from quaestor.figures.style import COLOURS, drawing

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["draw_time_blocks"]


def draw_time_blocks(
    *, epsilon: float, delta: float, most: tuple[int, ...], months: int, out: Path
) -> None:
    """Certified totals after every month, for a budget of ``epsilon`` and ``delta`` a month.

    Args:
        epsilon: each month's.
        delta: each month's.
        most: in how many months a person is at most: one line for each.
        months: how many months to draw.
        out: the file to draw into.
    """
    time = range(1, months + 1)
    totals = [person_total(epsilon=epsilon, delta=delta, most=count).epsilon for count in time]
    with drawing(out) as (axes,):
        lines = [(totals, "in every month")]
        lines += [
            ([totals[min(month, count) - 1] for month in time], f"in at most {count}")
            for count in most
        ]
        for (values, words), colour in zip(lines, COLOURS, strict=False):
            axes.step(time, values, where="post", color=colour)
            axes.annotate(
                f" {words}: {math.ceil(values[-1] * 10) / 10:g}",
                (months, values[-1]),
                color=colour,
                va="center",
                fontsize=8.5,
            )
        axes.set_xlim(1, months * 1.42)
        axes.set_ylim(bottom=0)
        axes.set_xticks([1, *range(12, months + 1, 12)])
        axes.set_xlabel("months, each with a full budget")
        axes.set_title(f"epsilon that a person loses in all, {epsilon:g} a month")
