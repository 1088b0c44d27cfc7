"""Charts as shapes: where bars, intervals, curves and round ticks go; templates draw SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

from quaestor.curator.answers.shown import shown_value

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer, AnswerColumn

__all__ = [
    "BarChart",
    "ChartBar",
    "RegionChart",
    "StepChart",
    "bar_charts",
    "region_chart",
    "round_ticks",
    "step_chart",
]

_WIDTH, _LABEL, _RIGHT, _ROW, _TOP = 340, 76, 10, 34, 6
_BEYOND = 0.8  # of the range of estimates: how far an interval may stretch the axis
_MOST_ROWS, _MOST_LETTERS = 40, 10
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_REGION = 200
_INSET, _BELOW = 50, 34


def round_ticks(low: float, high: float, *, most: int = 6) -> list[float]:
    """Round numbers from at most ``low`` to at least ``high``, evenly spaced.

    >>> round_ticks(0, 11588, most=5)
    [0.0, 2500.0, 5000.0, 7500.0, 10000.0, 12500.0]
    >>> round_ticks(-3, 8)
    [-4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0]
    >>> round_ticks(0, 0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        high = low + 1.0
    rough = (high - low) / max(most, 1)
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * each for each in _STEPS if unit * each >= rough * (1 - 1e-9))
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [float(f"{place * step:.10g}") for place in range(first, last + 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A place on an axis, and what stands there."""

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartInterval:
    """Where an interval goes; an open end lies beyond the axis."""

    low: float
    high: float
    open_low: bool
    open_high: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartBar:
    """One estimate: a bar with its noise interval and the interval of its whole error."""

    label: str
    full: str
    middle: float
    left: float
    width: float
    noise: ChartInterval | None
    whole: ChartInterval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    """A figure by its keys."""

    name: str
    caption: str
    width: int
    height: int
    bottom: int
    bars: tuple[ChartBar, ...]
    ticks: tuple[Tick, ...]
    has_whole: bool
    has_open: bool
    """Whether an interval goes on beyond the axis."""
    cut: int
    """How many rows are in the table alone."""


def bar_charts(answer: Answer) -> list[BarChart]:
    """A chart of every figure that has numbers."""
    keys = [column for column in answer.columns if not column.figure]
    labels = [
        ", ".join(shown_value(column.values[row]) or "no value" for column in keys) or "all"
        for row in range(len(answer))
    ]
    return [
        _bars(column, labels, confidence=answer.confidence)
        for column in answer.columns
        if column.figure and any(_number(value) is not None for value in column.values)
    ]


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return float(value)


def _pair(
    lower: Sequence[float | None] | None, upper: Sequence[float | None] | None, row: int
) -> tuple[float, float] | None:
    ends = (
        _number(None if lower is None else lower[row]),
        _number(None if upper is None else upper[row]),
    )
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _bars(column: AnswerColumn, labels: list[str], *, confidence: float) -> BarChart:
    shown = range(min(len(labels), _MOST_ROWS))
    values = [_number(column.values[row]) for row in shown]
    noise = [_pair(column.lower, column.upper, row) for row in shown]
    whole = [_pair(column.whole_lower, column.whole_upper, row) for row in shown]
    ends = [0.0, *(value for value in values if value is not None)]
    ends += [end for pair in noise if pair for end in pair]
    room = _BEYOND * (max(ends) - min(ends))
    floor_, top = min(ends) - room, max(ends) + room
    ends += [min(max(end, floor_), top) for pair in whole if pair for end in pair]
    ticks = round_ticks(min(ends), max(ends), most=4)
    low, scale = ticks[0], (_WIDTH - _LABEL - _RIGHT - 16) / (ticks[-1] - ticks[0])

    def place(value: float) -> float:
        return round(_LABEL + (value - low) * scale, 2)

    def places(pair: tuple[float, float] | None) -> ChartInterval | None:
        if pair is None:
            return None
        kept = [min(max(end, low), ticks[-1]) for end in pair]
        return ChartInterval(
            low=place(kept[0]),
            high=place(kept[1]),
            open_low=kept[0] > pair[0],
            open_high=kept[1] < pair[1],
        )

    bars = tuple(
        ChartBar(
            label=_short(labels[row]),
            full=labels[row],
            middle=_TOP + _ROW * row + _ROW / 2,
            left=min(place(0.0), place(value)),
            width=round(abs(place(value) - place(0.0)), 2),
            noise=places(noise[row]),
            whole=places(whole[row]),
        )
        for row, value in enumerate(values)
        if value is not None
    )
    bottom = _TOP + _ROW * len(shown)
    about = "about " if column.approximate else ""
    sure = f", {about}{100 * confidence:.6g} % intervals" if column.lower is not None else ""
    return BarChart(
        name=column.name,
        caption=f"{column.name}{sure}",
        width=_WIDTH,
        height=bottom + 24,
        bottom=bottom,
        bars=bars,
        ticks=tuple(Tick(at=place(value), text=_tick(value)) for value in ticks),
        has_whole=any(whole),
        has_open=any(bar.whole and (bar.whole.open_low or bar.whole.open_high) for bar in bars),
        cut=len(labels) - len(shown),
    )


def _short(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"


def _tick(value: float) -> str:
    """A tick in few letters.

    >>> _tick(2500.0), _tick(1.5e7), _tick(0.25)
    ('2,500', '15M', '0.25')
    """
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:,.10g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionChart:
    """Which false alarms and missed detections an attacker can reach."""

    width: int
    height: int
    size: int
    inset: int
    curve: str
    area: str
    ticks: tuple[Tick, ...]


def region_chart(vertices: Sequence[Sequence[float]]) -> RegionChart:
    """The region above a curve of vertices, up to the line of guessing."""

    def place(point: Sequence[float]) -> str:
        return f"{_INSET + _REGION * point[0]:.2f},{10 + _REGION * (1 - point[1]):.2f}"

    curve = " ".join(map(place, vertices))
    return RegionChart(
        width=_INSET + _REGION + 14,
        height=10 + _REGION + _BELOW,
        size=_REGION,
        inset=_INSET,
        curve=curve,
        area=f"{curve} {place((1.0, 0.0))} {place((0.0, 1.0))}",
        ticks=tuple(Tick(at=_REGION * each, text=f"{each:g}") for each in (0.0, 0.5, 1.0)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChart:
    """A burn-down: the share that is left after each charge."""

    width: int
    height: int
    bottom: int
    left: int
    lines: tuple[str, ...]
    across: tuple[Tick, ...]
    upward: tuple[Tick, ...]


def step_chart(series: Sequence[Sequence[float]]) -> StepChart:
    """Steps of shares between 0 and 1, one after each charge; every series begins with all."""
    width, height, left, bottom = 640, 240, 52, 206
    count = max(max(map(len, series), default=0), 1)
    across = [tick for tick in round_ticks(0, count, most=8) if tick.is_integer()]
    end = max(across[-1], 1.0)

    def spot(number: float, share: float) -> str:
        x = left + (width - left - 14) * number / end
        return f"{x:.1f},{10 + (bottom - 10) * (1 - min(max(share, 0.0), 1.0)):.1f}"

    lines = []
    for shares in series:
        points, before = [spot(0, 1.0)], 1.0
        for number, share in enumerate(shares, 1):
            points += [spot(number, before), spot(number, share)]
            before = share
        lines.append(" ".join(points))
    return StepChart(
        width=width,
        height=height,
        bottom=bottom,
        left=left,
        lines=tuple(lines),
        across=tuple(
            Tick(at=left + (width - left - 14) * each / end, text=f"{each:,.0f}") for each in across
        ),
        upward=tuple(
            Tick(at=10 + (bottom - 10) * (1 - each / 100), text=f"{each} %")
            for each in (0, 20, 40, 60, 80, 100)
        ),
    )
