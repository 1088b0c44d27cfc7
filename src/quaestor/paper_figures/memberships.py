"""Figures for Hartmann, Bindschaedler, West, On the Choice of Databases in DP Composition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.compose import compose
from quaestor.accounting.hypothesis import hypothesis_bounds
from quaestor.accounting.hypothesis.priors import PointPrior, UniformPrior
from quaestor.accounting.papers.membership_claims import corollary_7, theorem_3
from quaestor.accounting.releases import PureDP
from quaestor.figures.style import COLOURS, drawing
from quaestor.paper_figures.parameters import FigureParameters

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

__all__ = ["draw_beliefs", "draw_databases"]

_USUAL = FigureParameters()
_POINTS = 40


def draw_databases(out: Path, asked: FigureParameters = _USUAL) -> None:
    """Total epsilon against the number of databases, if nobody is in more than ``count`` of them.

    The paper's hospitals: 0.01-DP each, at most 365 nights a year. Where two people may be
    compared who share no database, twice as many differ.
    """
    each, most = asked.epsilon_or(0.01), asked.count_or(365, largest=10_000)
    delta = asked.delta_or(1e-6, low=1e-100)
    numbers = sorted({*(round((14 * most) ** (i / _POINTS)) for i in range(_POINTS + 1)), most})

    def total(count: int) -> float:
        return compose(PureDP(epsilon=each) * count).epsilon(delta=delta)

    curves = (
        ("everybody may be everywhere", [total(k) for k in numbers], "-"),
        (f"parallel composition, at most {most}", [each * min(k, most) for k in numbers], ":"),
        (f"in at most {most}, moved elsewhere", [total(min(k, 2 * most)) for k in numbers], "--"),
        (f"in at most {most}, added or removed", [total(min(k, most)) for k in numbers], "-"),
    )
    with drawing(out, height=4.0) as (axes,):
        for (name, values, style), colour in zip(curves, _colours(), strict=True):
            axes.plot(numbers, values, label=name, color=colour, linestyle=style)
        axes.set_xscale("log")
        _finish(axes, f"{each:g}-DP each, at delta {delta:g}")


def draw_beliefs(out: Path, asked: FigureParameters = _USUAL) -> None:
    """Total epsilon against the number of databases, for an attacker with a belief.

    The attacker tells "in none" from "in some, all memberships equally likely": exactly, by the
    paper's Theorem 3 with optimal composition, by its Corollary 7, and without a belief.
    """
    each, most = asked.epsilon_or(0.1), asked.count_or(100, largest=200)
    delta = asked.delta_or(1e-6, low=1e-100)
    release, some = PureDP(epsilon=each), UniformPrior(at_least=1)
    numbers = sorted({max(round(most * i / 8), 1) for i in range(1, 9)})
    exact = [
        hypothesis_bounds([release] * k, null=PointPrior(), alternative=some).epsilon(delta=delta)
        for k in numbers
    ]
    curves = (
        ("no belief", [compose(release * k).epsilon(delta=delta) for k in numbers], "-"),
        ("Corollary 7", [corollary_7(release, count=k).epsilon for k in numbers], ":"),
        ("Theorem 3", [theorem_3([release] * k, delta=delta).epsilon for k in numbers], "--"),
        ("exact", exact, "-"),
    )
    with drawing(out, height=4.0) as (axes,):
        for (name, values, style), colour in zip(curves, _colours(), strict=True):
            axes.plot(numbers, values, label=name, color=colour, linestyle=style)
        _finish(axes, f"in none against in some: {each:g}-DP each, at delta {delta:g}")


def _colours() -> tuple[str, ...]:
    return COLOURS[6], COLOURS[1], COLOURS[2], COLOURS[0]


def _finish(axes: Axes, title: str) -> None:
    axes.set(title=title, xlabel="databases", ylabel=r"total $\varepsilon$")
    axes.set_ylim(0, 1.4 * axes.get_ylim()[1])  # room for the names
    axes.legend(loc="upper left")
