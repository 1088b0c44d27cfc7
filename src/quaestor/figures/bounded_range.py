"""Figure 1 of Dong, Durfee, Rogers: Optimal DP Composition for Exponential Mechanisms.

With one curve that the paper does not have: the adaptive optimum, as a certified bracket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.releases import BoundedRange, PureDP
from quaestor.accounting.theorems import (
    adaptive_optimum,
    durfee_rogers,
    non_adaptive_optimum,
    optimal_divergence,
    optimal_homogeneous,
    range_moments,
    sharp_range_moments,
)
from quaestor.figures.style import COLOURS, drawing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.releases import Release

__all__ = ["draw_ranges"]

_DELTA = 1e-6
_PANELS: dict[float, tuple[int, ...]] = {
    0.01: (50, 100, 200, 400, 600, 800, 1000),
    0.1: (10, 25, 50, 100, 150, 200, 300, 400),
    1.0: (1, 2, 5, 10, 15, 20, 30, 40, 50),
}


def draw_ranges(out: Path) -> None:
    """Total epsilon against the number of selections, for three ranges, by every theorem."""
    with drawing(out, panels=3, height=4.2) as panels:
        for axes, (epsilon, counts) in zip(panels, _PANELS.items(), strict=True):
            ranges = [BoundedRange(epsilon=epsilon) * count for count in counts]
            boxes = [PureDP(epsilon=epsilon) * count for count in counts]
            halves = [PureDP(epsilon=epsilon / 2) * count for count in counts]
            curves: list[
                tuple[str, Callable[[Iterable[Release]], Profile], list[Release], str, str]
            ] = [
                (r"$\varepsilon$-DP optimum", optimal_homogeneous, boxes, COLOURS[6], "-"),
                ("DR19", durfee_rogers, ranges, COLOURS[1], "-"),
                ("OptKL", optimal_divergence, ranges, COLOURS[4], "-."),
                ("MGF (Theorem 5)", range_moments, ranges, COLOURS[2], "-"),
                ("MGF with its factor", sharp_range_moments, ranges, COLOURS[2], "--"),
                ("adaptive optimum", adaptive_optimum, ranges, COLOURS[3], "-"),
                ("fixed in advance (Theorem 2)", non_adaptive_optimum, ranges, COLOURS[0], "--"),
                (r"$\varepsilon/2$-DP optimum", optimal_homogeneous, halves, COLOURS[6], ":"),
            ]
            for name, theorem, releases, colour, style in curves:
                totals = [theorem([each]).epsilon_bounds(delta=_DELTA).upper for each in releases]
                axes.plot(counts, totals, label=name, color=colour, linestyle=style)
            axes.set(
                title=rf"$\varepsilon = {epsilon:g},\ \delta_g = 10^{{-6}}$",
                xlabel="selections $k$",
                ylabel=r"total $\varepsilon_g$",
                xlim=(0, counts[-1]),
            )
            axes.set_ylim(bottom=0)
        panels[0].set_ylim(top=2.3)
        panels[0].legend(loc="upper left")
