"""The figures of the papers.

Figures 1 to 3 of Kairouz, Oh, Viswanath, The Composition Theorem for Differential Privacy, and
Figure 1 of Dong, Durfee, Rogers, Optimal DP Composition for Exponential Mechanisms.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quaestor.accounting.compose import compose
from quaestor.accounting.releases import ApproxDP, BoundedRange, PureDP
from quaestor.accounting.theorems import (
    adaptive_optimum,
    advanced,
    basic,
    durfee_rogers,
    non_adaptive_optimum,
    optimal_divergence,
    optimal_homogeneous,
    range_moments,
    sharp_range_moments,
)
from quaestor.accounting.tradeoff import Tradeoff
from quaestor.figures.region import plot_region, prepare
from quaestor.figures.style import COLOURS, drawing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.releases import Release

__all__ = ["PAPER_FIGURES", "draw_ranges", "figure_1", "figure_2", "figure_3"]

_DELTA = 1e-6
_RANGES: dict[float, tuple[int, ...]] = {
    0.01: (50, 100, 200, 400, 600, 800, 1000),
    0.1: (10, 25, 50, 100, 150, 200, 300, 400),
    1.0: (1, 2, 5, 10, 15, 20, 30, 40, 50),
}


def figure_1(out: Path) -> None:
    """The privacy region of one (epsilon, delta)-DP release, its corners named."""
    epsilon, delta = math.log(3), 0.1
    tradeoff = compose(ApproxDP(epsilon=epsilon, delta=delta)).tradeoff()
    corner = tradeoff.vertices()[1].false_positive
    names = {
        (0.0, 1 - delta): r"$(0,\ 1-\delta)$",
        (corner, corner): r"$\left(\frac{1-\delta}{1+e^\varepsilon},"
        r"\ \frac{1-\delta}{1+e^\varepsilon}\right)$",
    }
    with drawing(out, height=4.0) as (axes,):
        prepare(axes, title=r"Privacy region $\mathcal{R}(\varepsilon,\delta)$")
        plot_region(axes, tradeoff.vertices(at_most=201), label="", colour=COLOURS[0])
        for (place, name), offset in zip(names.items(), ((30, 7), (12, 12)), strict=True):
            axes.annotate(name, place, xytext=offset, textcoords="offset points", va="center")
        line = {"color": COLOURS[1], "linewidth": 0.9, "linestyle": ":"}
        axes.plot([0, 2 * corner], [2 * corner, 0], **line)  # type: ignore[arg-type]
        axes.annotate(
            "the least sum of errors",
            (2 * corner, 0),
            xytext=(-63, 41),
            textcoords="offset points",
            color=COLOURS[1],
            fontsize=8.5,
            rotation=-45,
            ha="center",
            va="center",
        )


def figure_2(out: Path) -> None:
    """How the region grows with the number of releases, without and with a delta."""
    with drawing(out, panels=2) as panels:
        for axes, delta in zip(panels, (0.0, 0.1), strict=True):
            prepare(axes, title=rf"$\varepsilon = 0.4,\ \delta = {delta:g}$")
            for count in range(1, 6):
                region = compose(ApproxDP(epsilon=0.4, delta=delta) * count).tradeoff()
                corners = region.vertices(at_most=201)
                plot_region(axes, corners, label=f"$k = {count}$", colour=COLOURS[count - 1])
            axes.legend(loc="upper right")


def figure_3(out: Path) -> None:
    """Three theorems on thirty releases: the regions, and the curves of tangent lines."""
    releases = [ApproxDP(epsilon=0.1, delta=0.001) * 30]
    profiles = {
        "Theorem 3.1 (basic)": basic(releases),
        "Theorem 3.2 (advanced)": advanced(releases),
        "Theorem 3.3 (optimal)": optimal_homogeneous(releases),
    }
    epsilons = [3.5 * i / 700 for i in range(701)]
    with drawing(out, panels=2) as (left, right):
        prepare(left, title=r"$\varepsilon = 0.1,\ \delta = 0.001,\ k = 30$")
        for (name, profile), colour in zip(profiles.items(), COLOURS[2::-1], strict=True):
            plot_region(left, Tradeoff(profile).vertices(at_most=201), label=name, colour=colour)
            deltas = [profile.delta_bounds(epsilon=epsilon).upper for epsilon in epsilons]
            told = [(e, d) for e, d in zip(epsilons, deltas, strict=True) if d < 1]
            right.plot([e for e, _ in told], [d for _, d in told], color=colour, label=name)
            if len(profile.supports(2)) == 1:  # a promise at one point
                right.plot(*told[0], marker="o", markersize=4, color=colour)
        left.legend(loc="upper right")
        right.set(xlim=(0, 3.5), ylim=(0, 0.5), title="Supporting lines of the boundary")
        right.set(xlabel=r"total $\tilde\varepsilon$", ylabel=r"total $\tilde\delta$")
        right.legend(loc="upper right")


def draw_ranges(out: Path) -> None:
    """Figure 1 of Dong, Durfee, Rogers: total epsilon against the number of selections.

    For three ranges, by every theorem, with one curve that the paper does not have: the adaptive
    optimum, as a certified bracket.
    """
    with drawing(out, panels=3, height=4.2) as panels:
        for axes, (epsilon, counts) in zip(panels, _RANGES.items(), strict=True):
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


PAPER_FIGURES: dict[str, Callable[[Path], None]] = {
    "1": figure_1,
    "2": figure_2,
    "3": figure_3,
    "range": draw_ranges,
}
