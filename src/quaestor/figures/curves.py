"""The privacy curve as a picture: which delta is true at which epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from quaestor.figures.labels import in_lines
from quaestor.figures.style import COLOURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["CurvePoint", "plot_curve"]


class CurvePoint(NamedTuple):
    """Both certified ends of delta at one epsilon."""

    epsilon: float
    lower: float
    upper: float


def plot_curve(
    axes: Axes, points: Sequence[CurvePoint], *, label: str, marked: tuple[float, float] | None
) -> None:
    """The upper ends as a line, and down to the lower ends a band; ``marked`` is one point of it.

    Further curves on the same axes get colours of their own.
    """
    colour = COLOURS[len(axes.lines) % len(COLOURS)]
    epsilons, uppers = [point.epsilon for point in points], [point.upper for point in points]
    axes.fill_between(
        epsilons, [point.lower for point in points], uppers, color=colour, alpha=0.2, lw=0
    )
    axes.plot(epsilons, uppers, color=colour, label=in_lines(label))
    axes.set(xlabel=r"$\varepsilon$", ylabel=r"$\delta$")
    if any(uppers):
        axes.set_yscale("log")
    axes.set_xlim(left=0)
    if marked is not None:
        epsilon, delta = marked
        axes.annotate(
            rf"$\varepsilon$ = {epsilon:.4g} at $\delta$ = {delta:g}",
            marked,
            xytext=(6, 6),
            textcoords="offset points",
            color=colour,
            fontsize=8.5,
        )
        axes.scatter([epsilon], [delta], s=18, color=colour, zorder=5)
    axes.legend(loc="upper right")
