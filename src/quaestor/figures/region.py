"""The privacy region as a picture: false alarms against missed detections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.figures.style import COLOURS, drawing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from quaestor.accounting.tradeoff import Tradeoff

__all__ = ["draw_regions", "plot_region", "prepare"]

_FEW_CORNERS = 16


def draw_regions(regions: Sequence[tuple[str, Tradeoff]], *, out: Path) -> None:
    """One boundary for each named region, into one file."""
    with drawing(out, height=4.0 + 0.18 * len(regions)) as (axes,):
        prepare(axes)
        for i, (label, tradeoff) in enumerate(regions):
            plot_region(axes, tradeoff, label=label, colour=COLOURS[i % len(COLOURS)])
        axes.get_figure(root=True).legend(loc="outside lower left")  # type: ignore[union-attr]


def prepare(axes: Axes, *, title: str = "") -> None:
    """The unit square with the line of blind guessing."""
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", title=title)
    axes.set(xlabel="missed detection $P_{MD}$", ylabel="false alarm $P_{FA}$")
    ticks = [0, 0.25, 0.5, 0.75, 1]
    axes.set_xticks(ticks, ["0", "0.25", "0.5", "0.75", "1"])
    axes.set_yticks(ticks, ["0", "0.25", "0.5", "0.75", "1"])
    axes.plot([0, 1], [1, 0], color="0.65", linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate(
        "blind guessing",
        (0.5, 0.5),
        rotation=-45,
        ha="center",
        va="bottom",
        fontsize=8,
        color="0.45",
        rotation_mode="anchor",
        xytext=(2, 2),
        textcoords="offset points",
    )


def plot_region(axes: Axes, tradeoff: Tradeoff, *, label: str, colour: str) -> None:
    """The region's lower boundary, with its corners where one can see them apart."""
    corners = tradeoff.vertices(at_most=201)
    missed = [vertex.false_negative for vertex in corners]
    alarms = [vertex.false_positive for vertex in corners]
    axes.fill([0, *missed[::-1], 1], [1, *alarms[::-1], 0], color=colour, alpha=0.07, lw=0)
    few = len(corners) <= _FEW_CORNERS
    axes.plot(
        missed,
        alarms,
        color=colour,
        label=label,
        clip_on=False,
        marker="o" if few else None,
        markersize=2.8,
    )
