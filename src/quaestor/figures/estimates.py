"""EstimateSeries with their intervals: bars for categories, lines along dates and numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.figures.labels import plain
from quaestor.figures.style import COLOURS, drawing, styled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

__all__ = ["EstimateSeries", "Picture", "draw_pictures", "plot_picture"]

_MOST_BARS = 40
_BAR = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateSeries:
    """One series: a value and an interval for each place; NaN where there is none."""

    label: str
    places: Sequence[Any]
    """Names of categories, or dates and numbers along the axis."""
    values: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What one panel shows."""

    title: str
    along: str
    """What the places are."""
    ordered: bool
    """Whether places are dates or numbers, in their order, and not categories."""
    series: tuple[EstimateSeries, ...]


def plot_picture(axes: Axes, picture: Picture) -> None:
    """Draw into axes that there are."""
    with styled():
        (_lines if picture.ordered else _bars)(axes, picture)
        axes.set_title(plain(picture.title))
        if len(picture.series) > 1:
            axes.legend()


def _lines(axes: Axes, picture: Picture) -> None:
    for place, series in enumerate(picture.series):
        colour = COLOURS[place % len(COLOURS)]
        axes.errorbar(
            series.places,
            series.values,
            yerr=_reach(series),
            color=colour,
            label=plain(series.label),
            marker="o",
            markersize=3.5,
            elinewidth=1.0,
            capsize=2.5,
        )
    axes.set_xlabel(plain(picture.along))
    if picture.series and hasattr(next(iter(picture.series[0].places), 0), "isoformat"):
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        shown = ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_formatter(shown)


def _bars(axes: Axes, picture: Picture) -> None:
    """Lying bars, so that names can be read; the first category on top."""
    names = list(dict.fromkeys(name for each in picture.series for name in each.places))
    shown = names[:_MOST_BARS]
    height = _BAR / max(len(picture.series), 1)
    for place, series in enumerate(picture.series):
        kept = [at for at, name in enumerate(series.places) if name in shown]
        middles = [
            shown.index(series.places[at]) + (place + 0.5) * height - _BAR / 2 for at in kept
        ]
        lower, upper = _reach(series)
        axes.barh(
            middles,
            [series.values[at] for at in kept],
            height=0.9 * height,
            xerr=[[lower[at] for at in kept], [upper[at] for at in kept]],
            color=COLOURS[place % len(COLOURS)],
            alpha=0.75,
            label=plain(series.label),
            error_kw={"elinewidth": 1.2, "capsize": 2.5, "ecolor": "0.25"},
        )
    axes.set_yticks(range(len(shown)), map(plain, shown))
    axes.invert_yaxis()
    axes.set_ylabel(plain(picture.along))
    if len(names) > len(shown):
        axes.set_xlabel(f"the first {len(shown)} of {len(names)}")


def _reach(series: EstimateSeries) -> list[list[float]]:
    """How far intervals reach to both sides; a value outside its interval reaches 0 that way."""
    sides = [
        [value - lower for value, lower in zip(series.values, series.lower, strict=True)],
        [upper - value for value, upper in zip(series.values, series.upper, strict=True)],
    ]
    return [
        [max(each, 0.0) if math.isfinite(each) else math.nan for each in side] for side in sides
    ]


def draw_pictures(pictures: Sequence[Picture], *, out: Path) -> None:
    """All panels side by side, into one file."""
    most = max((len(each.series[0].places) for each in pictures if not each.ordered), default=0)
    height = max(3.6, 1.2 + 0.22 * min(most, _MOST_BARS))
    with drawing(out, panels=len(pictures), height=height) as panels:
        for axes, picture in zip(panels, pictures, strict=True):
            plot_picture(axes, picture)
