"""Figure 1 of Dong, Durfee, Rogers, Optimal DP Composition for Exponential Mechanisms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quaestor.accounting.releases import BoundedRange, PureDP
from quaestor.accounting.theorems import (
    adaptive_optimum,
    durfee_rogers,
    non_adaptive_optimum,
    optimal_homogeneous,
    range_moments,
)
from quaestor.figures.style import COLOURS, drawing
from quaestor.paper_figures.parameters import FigureParameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from matplotlib.axes import Axes

    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.releases import Release

__all__ = ["draw_ranges"]

_PANELS = {0.01: 1000, 0.1: 400, 1.0: 50}  # the range of each selection, and the most of them
_POINTS, _DOTS = 10, 4
_DOT_WIDTH = 1e-2  # relative: a dot is wider


def draw_ranges(out: Path, asked: FigureParameters = FigureParameters()) -> None:  # noqa: B008
    """Total epsilon against the number of selections, for three ranges or one's own.

    Five of the paper's curves and of ours can be told apart on paper: the epsilon-DP optimum, the
    first bound for bounded range, the paper's moments (its OptKL lies less than 4 % above them),
    the optimum for queries that are fixed in advance and, as dots, the adaptive optimum.
    """
    panels = dict(_PANELS)
    if asked.epsilon is not None or asked.count is not None:
        epsilon = asked.epsilon_or(0.1)
        usual = min(max(round(40 / epsilon), 50), 1000)
        panels = {epsilon: asked.count_or(usual, largest=10_000)}
    delta = asked.delta_or(1e-6, low=1e-100)
    with drawing(out, panels=len(panels), height=4.2) as drawn:
        for axes, (epsilon, count) in zip(drawn, panels.items(), strict=True):
            _plot_panel(axes, epsilon, count, delta)
        drawn[0].legend(loc="upper left")


def _plot_panel(axes: Axes, epsilon: float, most: int, delta: float) -> None:
    counts = _steps(most, _POINTS)
    ranges: Callable[[int], Release] = lambda count: BoundedRange(epsilon=epsilon) * count  # noqa: E731
    pure: Callable[[int], Release] = lambda count: PureDP(epsilon=epsilon) * count  # noqa: E731

    def totals(
        theorem: Callable[[Iterable[Release]], Profile], of: Callable[[int], Release]
    ) -> list[float]:
        return [theorem([of(count)]).epsilon_bounds(delta=delta).upper for count in counts]

    curves = (
        (r"$\varepsilon$-DP optimum", totals(optimal_homogeneous, pure), COLOURS[6], "-"),
        ("Durfee and Rogers 2019", totals(durfee_rogers, ranges), COLOURS[1], "-"),
        ("moments (Theorem 5)", totals(range_moments, ranges), COLOURS[2], "--"),
        ("fixed in advance (Theorem 2)", totals(non_adaptive_optimum, ranges), COLOURS[0], "-"),
    )
    for name, values, colour, style in curves:
        axes.plot(counts, values, label=name, color=colour, linestyle=style)
    dots = _steps(most, _DOTS)
    best = [
        adaptive_optimum([ranges(count)], width=_DOT_WIDTH).epsilon_bounds(delta=delta).upper
        for count in dots
    ]
    axes.plot(
        dots, best, "o", label="adaptive optimum", color=COLOURS[0], markersize=4, clip_on=False
    )
    axes.set(
        title=rf"$\varepsilon = {epsilon:g},\ \delta_g = {_power(delta)}$",
        xlabel="selections $k$",
        ylabel=r"total $\varepsilon_g$",
        xlim=(0, most),
        ylim=(0, 1.25 * axes.get_ylim()[1]),  # room for the names
    )


def _steps(most: int, points: int) -> list[int]:
    """Numbers up to ``most``, closer together where curves bend.

    >>> _steps(400, 4)
    [25, 100, 225, 400]
    """
    return sorted({max(round(most * (i / points) ** 2), 1) for i in range(1, points + 1)})


def _power(delta: float) -> str:
    """A delta in a formula."""
    exponent = math.log10(delta)
    return f"10^{{{exponent:.0f}}}" if exponent == round(exponent) else f"{delta:g}"
