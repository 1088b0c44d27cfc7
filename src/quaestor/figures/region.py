"""The privacy region as a picture: false alarms against missed detections."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from quaestor.figures.labels import in_lines
from quaestor.figures.style import COLOURS, drawing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    Corners = Sequence[tuple[float, float]]

__all__ = ["LEAST", "draw_regions", "plot_next_region", "plot_region", "prepare"]

LEAST = 1e-6  # where logarithmic axes begin
_FEW_CORNERS = 16
_LOG_STEPS = 240
_GREY = {"color": "0.65", "linewidth": 0.8, "linestyle": (0, (4, 3))}


def draw_regions(regions: Sequence[tuple[str, Corners]], *, out: Path, log: bool = False) -> None:
    """One boundary for each named region, into one file; ``log`` for logarithmic axes.

    Corners are pairs of a false positive and a false negative rate, from no false positives on.
    """
    labels = [in_lines(label) for label, _ in regions]
    lines = sum(label.count("\n") + 1 for label in labels)
    with drawing(out, height=4.0 + 0.18 * lines) as (axes,):
        prepare(axes, log=log)
        for i, (label, (_, corners)) in enumerate(zip(labels, regions, strict=True)):
            plot_region(axes, corners, label=label, colour=COLOURS[i % len(COLOURS)])
        axes.get_figure(root=True).legend(loc="outside lower left")  # type: ignore[union-attr]


def plot_next_region(axes: Axes, corners: Corners, *, label: str, log: bool) -> None:
    """A region on axes that are new, or have some already; each has a colour of its own."""
    if not axes.lines:
        prepare(axes, log=log)
    colour = COLOURS[(len(axes.lines) - 1) % len(COLOURS)]
    plot_region(axes, corners, label=in_lines(label), colour=colour)
    if label:
        axes.legend(loc="lower right" if axes.get_xscale() == "log" else "upper right", fontsize=8)


def prepare(axes: Axes, *, title: str = "", log: bool = False) -> None:
    """The unit square with the line of blind guessing.

    ``log`` has logarithmic axes instead, which show how often rare accusations are right: false
    alarms against detections.
    """
    axes.set_title(title)
    if log:
        axes.set(xscale="log", yscale="log", xlim=(LEAST, 1), ylim=(LEAST, 1), aspect="equal")
        axes.set(xlabel="false alarm $P_{FA}$", ylabel="detection $1 - P_{MD}$")
        axes.plot([LEAST, 1], [LEAST, 1], **_GREY)  # type: ignore[arg-type]
        return
    axes.set(xlabel="missed detection $P_{MD}$", ylabel="false alarm $P_{FA}$")
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ticks = [0, 0.25, 0.5, 0.75, 1]
    axes.set_xticks(ticks, ["0", "0.25", "0.5", "0.75", "1"])
    axes.set_yticks(ticks, ["0", "0.25", "0.5", "0.75", "1"])
    axes.plot([0, 1], [1, 0], **_GREY)  # type: ignore[arg-type]
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


def plot_region(axes: Axes, corners: Corners, *, label: str, colour: str) -> None:
    """The region's boundary, with its corners where one can see them apart."""
    if axes.get_xscale() == "log":
        points = _on_log_axes(corners)
        alarms, detected = [x for x, _ in points], [y for _, y in points]
        axes.fill_between(alarms, alarms, detected, color=colour, alpha=0.07, lw=0)
        axes.plot(alarms, detected, color=colour, label=label)
        return
    missed = [false_negative for _, false_negative in corners]
    alarms = [false_positive for false_positive, _ in corners]
    axes.fill([0, *missed[::-1], 1], [1, *alarms[::-1], 0], color=colour, alpha=0.07, lw=0)
    axes.plot(
        missed,
        alarms,
        color=colour,
        label=label,
        clip_on=False,
        marker="o" if len(corners) <= _FEW_CORNERS else None,
        markersize=2.8,
    )


def _on_log_axes(corners: Corners) -> list[tuple[float, float]]:
    """False alarms and detections along a polygon's edges, which are bent on such axes.

    >>> points = _on_log_axes([(0.0, 1.0), (0.25, 0.25), (1.0, 0.0)])
    >>> points[0], points[-1]
    ((1e-06, 3e-06), (1.0, 1.0))
    """
    points: list[tuple[float, float]] = []
    for step in range(_LOG_STEPS + 1):
        alarm = LEAST ** (1 - step / _LOG_STEPS)
        for (x0, y0), (x1, y1) in pairwise(corners):
            if x0 <= alarm <= x1 and x0 < x1:
                missed = y0 + (y1 - y0) * ((alarm - x0) / (x1 - x0))
                points.append((alarm, max(round(1 - missed, 15), LEAST)))
                break
    return points
