"""Figures 1 to 3 of Kairouz, Oh, Viswanath, The Composition Theorem for Differential Privacy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quaestor.accounting.compose import compose
from quaestor.accounting.releases import ApproxDP
from quaestor.accounting.theorems import advanced, basic, optimal_homogeneous
from quaestor.accounting.tradeoff import Tradeoff
from quaestor.figures.region import plot_region, prepare
from quaestor.figures.style import COLOURS, drawing
from quaestor.paper_figures.parameters import FigureParameters

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["draw_growth", "draw_one_region", "draw_theorems"]

_USUAL = FigureParameters()


def draw_one_region(out: Path, asked: FigureParameters = _USUAL) -> None:
    """The privacy region of one (epsilon, delta)-DP release, its corners named."""
    epsilon, delta = asked.epsilon_or(math.log(3)), asked.delta_or(0.1)
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
            (corner, corner),
            xytext=(-8, -8),
            textcoords="offset points",
            color=COLOURS[1],
            fontsize=8.5,
            rotation=-45,
            ha="center",
            va="center",
        )


def draw_growth(out: Path, asked: FigureParameters = _USUAL) -> None:
    """How the region grows with the number of releases, without and with a delta."""
    epsilon, count = asked.epsilon_or(0.4), asked.count_or(5, largest=len(COLOURS))
    with drawing(out, panels=2) as panels:
        for axes, delta in zip(panels, (0.0, asked.delta_or(0.1)), strict=True):
            prepare(axes, title=rf"$\varepsilon = {epsilon:g},\ \delta = {delta:g}$")
            for times in range(1, count + 1):
                region = compose(ApproxDP(epsilon=epsilon, delta=delta) * times).tradeoff()
                corners = region.vertices(at_most=201)
                plot_region(axes, corners, label=f"$k = {times}$", colour=COLOURS[times - 1])
            axes.legend(loc="upper right")


def draw_theorems(out: Path, asked: FigureParameters = _USUAL) -> None:
    """Three theorems on thirty releases: the regions, and the curves of tangent lines."""
    epsilon, delta, count = asked.epsilon_or(0.1), asked.delta_or(0.001), asked.count_or(30)
    releases = [ApproxDP(epsilon=epsilon, delta=delta) * count]
    profiles = {
        "Theorem 3.1 (basic)": basic(releases),
        "Theorem 3.2 (advanced)": advanced(releases),
        "Theorem 3.3 (optimal)": optimal_homogeneous(releases),
    }
    end = 1.17 * epsilon * count
    epsilons = [end * i / 700 for i in range(701)]
    with drawing(out, panels=2) as (left, right):
        prepare(left, title=rf"$\varepsilon = {epsilon:g},\ \delta = {delta:g},\ k = {count}$")
        for (name, profile), colour in zip(profiles.items(), COLOURS[2::-1], strict=True):
            corners = Tradeoff(profile).vertices(at_most=201)
            plot_region(left, corners, label=name, colour=colour)
            deltas = [profile.delta_bounds(epsilon=at).upper for at in epsilons]
            told = [(e, d) for e, d in zip(epsilons, deltas, strict=True) if d < 1]
            right.plot([e for e, _ in told], [d for _, d in told], color=colour, label=name)
            if told and len(profile.supports(2)) == 1:  # a promise at one point
                right.plot(*told[0], marker="o", markersize=4, color=colour)
        left.legend(loc="upper right")
        right.set(xlim=(0, end), ylim=(0, 0.5), title="Supporting lines of the boundary")
        right.set(xlabel=r"total $\tilde\varepsilon$", ylabel=r"total $\tilde\delta$")
        right.legend(loc="upper right")
