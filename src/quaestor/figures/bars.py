"""Lying bars: theorems side by side, and shares of budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from quaestor.figures.labels import plain
from quaestor.figures.style import COLOURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["Bar", "ShareBar", "plot_bars", "plot_shares"]

_QUIET = "0.7"


class Bar(NamedTuple):
    """One bar: its name, its length (None: there is none), the words at its end."""

    name: str
    value: float | None
    words: str
    best: bool


class ShareBar(NamedTuple):
    """One budget: which shares of it are gone, would be taken, and would be left."""

    name: str
    gone: float
    taken: float
    left: float


def plot_bars(axes: Axes, bars: Sequence[Bar], *, title: str, along: str, log: bool) -> None:
    """The best one in colour; a bar that is missing has its words in grey."""
    for place, bar in enumerate(bars):
        colour = COLOURS[0] if bar.best else _QUIET
        if bar.value is None:
            axes.annotate(
                plain(bar.words),
                (0.01, place),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=8.5,
                color="0.45",
            )
            continue
        drawn = axes.barh(place, bar.value, height=0.7, color=colour)
        axes.bar_label(drawn, [plain(bar.words)], padding=3, fontsize=8.5)
    _finish(axes, [bar.name for bar in bars])
    axes.set(title=plain(title), xlabel=along)
    if log:
        axes.set_xscale("log")
    else:
        axes.margins(x=0.18)
        axes.set_xlim(left=0)


def plot_shares(axes: Axes, shares: Sequence[ShareBar], *, title: str) -> None:
    """What is gone, what would be taken, and what would be left, of every budget."""
    from matplotlib.ticker import PercentFormatter

    parts = (
        ("used so far", [each.gone for each in shares], "0.75"),
        ("this question", [each.taken for each in shares], COLOURS[1]),
        ("left", [each.left for each in shares], COLOURS[0]),
    )
    begun = [0.0] * len(shares)
    for label, lengths, colour in parts:
        if any(lengths):
            axes.barh(
                range(len(shares)), lengths, left=begun, height=0.6, color=colour, label=label
            )
        begun = [start + length for start, length in zip(begun, lengths, strict=True)]
    _finish(axes, [each.name for each in shares])
    axes.set(title=plain(title), xlim=(0, max(1.0, *begun) if begun else 1.0))
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3)


def _finish(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [plain(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
