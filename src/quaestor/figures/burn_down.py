"""An account's burn-down: what is left of its budget, and what was lost, charge by charge."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quaestor.figures.style import COLOURS, drawing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["draw_burn_down"]


def draw_burn_down(  # noqa: PLR0913  # two curves over one axis
    *,
    used: Sequence[float],
    lost: Sequence[float],
    numbers: Sequence[int],
    title: str,
    delta: float,
    out: Path,
) -> None:
    """Two panels over the numbers of changes: the share that is left, and the epsilon so far.

    Args:
        used: the share of the budget that is gone after each change.
        lost: the epsilon after each change; infinite ones are not drawn.
        numbers: how many changes there were up to each of them.
        title: what it is about.
        delta: the probability with which the epsilons may be too small.
        out: the file to draw into.
    """
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    end = max(numbers[-1] if numbers else 1, 1)
    places = [0, *numbers, end * 1.03]  # the last step is seen, too
    with drawing(out, panels=2) as (left, right):
        left.step(
            places, _held([1.0, *(1 - gone for gone in used)]), where="post", color=COLOURS[0]
        )
        left.set_ylim(0, 1.02)
        left.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
        left.set_title(f"{title}: budget left")
        shown = [0.0, *(math.nan if math.isinf(value) else value for value in lost)]
        right.step(places, _held(shown), where="post", color=COLOURS[1])
        right.set_ylim(bottom=0)
        right.set_title(f"epsilon lost so far, at delta {delta:g}")
        for axes in (left, right):
            axes.set_xlim(0, end * 1.03)
            axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
            axes.set_xlabel("changes: charges, and what was given back")


def _held(values: list[float]) -> list[float]:
    """With the last one for as long as the axis goes on."""
    return [*values, values[-1]]
