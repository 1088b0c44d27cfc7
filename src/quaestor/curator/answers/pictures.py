"""Answers as pictures: which column lies along the axis, and which makes several series."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from quaestor.curator.answers.shown import shown_value
from quaestor.errors import InvalidParameter
from quaestor.figures.estimates import (
    EstimateSeries,
    Picture,
    draw_pictures,
    plot_picture,
)
from quaestor.figures.style import given_or_new

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from quaestor.curator.answers.answer import Answer, AnswerColumn
    from quaestor.curator.language.expressions import Value

__all__ = ["draw", "plot"]

_ORDERED = {"date", "timestamp", "integer", "real"}
_MOST_SERIES = 7
_MOST_PANELS = 4


def plot(answer: Answer, *, of: str | None, axes: Any) -> Any:
    """One figure, into axes that are given or new."""
    picture = _picture(answer, _figure(answer, of))
    with given_or_new(axes) as drawn:
        plot_picture(drawn, picture)
        return drawn


def draw(answer: Answer, *, out: Path) -> None:
    """Every figure, up to four of them, side by side into one file."""
    figures = _figures(answer)[:_MOST_PANELS]
    draw_pictures([_picture(answer, each) for each in figures], out=out)


def _figures(answer: Answer) -> list[AnswerColumn]:
    found = [each for each in answer.columns if each.figure and each.kind in {"integer", "real"}]
    if not found:
        raise InvalidParameter("answer", answer.dataset, "one with a figure, to be drawn")
    return found


def _figure(answer: Answer, of: str | None) -> AnswerColumn:
    figures = _figures(answer)
    if of is None:
        return figures[0]
    for column in figures:
        if column.name == of:
            return column
    raise InvalidParameter("of", of, f"one of {', '.join(each.name for each in figures)}")


def _picture(answer: Answer, figure: AnswerColumn) -> Picture:
    keys = [column for column in answer.columns if not column.figure]
    title = f"{figure.name} ({100 * answer.confidence:g} % noise intervals)"
    if not keys:
        one = _series(figure, "", [figure.name], range(len(answer)))
        return Picture(title=title, along="", ordered=False, series=(one,))
    along = next((key for key in keys if key.kind in _ORDERED and _all_there(key)), None)
    if along is None:
        along = keys[0]
    others = [key for key in keys if key is not along]
    ordered = along.kind in _ORDERED and _all_there(along)
    names = [", ".join(_name(key.values[row]) for key in others) for row in range(len(answer))]
    if len(set(names)) > _MOST_SERIES:  # too many colours: each row is a category of its own
        places = [", ".join(_name(key.values[row]) for key in keys) for row in range(len(answer))]
        one = _series(figure, "", places, range(len(answer)))
        label = ", ".join(key.name for key in keys)
        return Picture(title=title, along=label, ordered=False, series=(one,))
    series = []
    for name in dict.fromkeys(names):
        rows = [row for row in range(len(answer)) if names[row] == name]
        if ordered:
            rows.sort(key=lambda row: _place(along, row))
        places = [_place(along, row) if ordered else _name(along.values[row]) for row in rows]
        series.append(_series(figure, name, places, rows))
    return Picture(title=title, along=along.name, ordered=ordered, series=tuple(series))


def _all_there(key: AnswerColumn) -> bool:
    """Whether every row has a place on the axis, and there is more than one."""
    return None not in key.values and len(set(key.values)) > 1


def _place(key: AnswerColumn, row: int) -> Any:
    value = key.values[row]
    if key.kind == "timestamp":
        return datetime.fromisoformat(str(value))
    return date.fromisoformat(str(value)) if key.kind == "date" else value


def _name(value: Value) -> str:
    return "no value" if value is None else shown_value(value)


def _series(
    figure: AnswerColumn, label: str, places: Sequence[Any], rows: Sequence[int]
) -> EstimateSeries:
    def some(values: Sequence[Any] | None) -> list[float]:
        missing = values is None
        return [
            math.nan if missing or values[row] is None else float(values[row])  # type: ignore[index]
            for row in rows
        ]

    return EstimateSeries(
        label=label,
        places=places,
        values=some(figure.values),
        lower=some(figure.lower),
        upper=some(figure.upper),
    )
