"""Figures of one unit: what is put together of its rows, and of nobody else's.

They become columns of one row a unit, which is then counted as any other row is. So they are not
trusted to be small: whatever they are, the outermost statement clamps what a unit contributes.
They only have to be total, and to keep within the range that is certain of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from quaestor.curator.kernel.measures import Total
from quaestor.curator.language.query import UnitFigure
from quaestor.curator.scalars.scalar import NUMBERS, SQL, Scalar, nearest_grid, of_kind, sized
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.scalars.writer import ScalarWriter

__all__ = ["Figures", "figure_of"]

_MOST: Final = 2**50


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A figure in SQL: the value of each row, what becomes of those of a unit, and its range."""

    of_row: str
    of_unit: str
    column: Scalar


def figure_of(figure: UnitFigure, name: str, writer: ScalarWriter) -> Figures:
    """The figure, whose rows' values are called ``name``."""
    way = _FIGURES.get(figure.function) if type(figure) is UnitFigure else None
    if way is None:
        raise InvalidParameter("figure", getattr(figure, "function", figure), "a figure of a unit")
    if type(figure.most) is not int or not 1 <= figure.most <= _MOST:
        raise InvalidParameter("most", figure.most, f"a whole number from 1 to {_MOST}")
    if figure.function == "rows":
        return _counted(writer.sql, "1", "COUNT(*)", figure.most)
    if figure.operand is None:
        raise InvalidParameter(figure.function, None, "given an operand")
    return way(writer.sql, figure, writer.scalar(figure.operand), name)


def _counted(sql: SQL, of_row: str, count: str, most: int) -> Figures:
    return Figures(
        of_row=of_row,
        of_unit=f"CAST(LEAST({count}, {most}) AS {sql.dialect.real})",
        column=Scalar(sql="", kind="integer", low=0.0, high=float(most)),
    )


def _values(sql: SQL, figure: UnitFigure, x: Scalar, name: str) -> Figures:
    there = f"CASE WHEN {x.sql} IS NOT NULL THEN 1 END"
    return _counted(sql, there, f"COUNT({name})", figure.most)


def _different(sql: SQL, figure: UnitFigure, x: Scalar, name: str) -> Figures:
    if x.kind == "real":
        raise InvalidParameter("different", "a real", "whole numbers, texts, dates, truths")
    value = f"CAST({sql.rounded(x).sql} AS BIGINT)" if x.kind == "integer" else x.sql
    return _counted(sql, value, f"COUNT(DISTINCT {name})", figure.most)


def _bounds(figure: UnitFigure, x: Scalar) -> Total:
    """What is known of its total: the same checks as for a measure."""
    of_kind(x, *NUMBERS)
    assert figure.operand is not None  # noqa: S101
    return Total(
        operand=figure.operand, low=figure.low, high=figure.high, step=figure.step, rows=figure.most
    )


def _steps(sql: SQL, x: Scalar, total: Total) -> str:
    """A number in whole steps, moved into bounds."""
    flushed = sql.flushed(x, -600)
    ends = sql.real(total.low * total.step), sql.real(total.high * total.step)
    inside = sql.clip(sql.number(flushed), *ends, bare=False)
    sized(3 * flushed.size + 8)
    return sql.integer(f"{inside} / {sql.real(total.step)}")


def _total(sql: SQL, figure: UnitFigure, x: Scalar, name: str) -> Figures:
    """NULL of a unit without values, as SUM is."""
    total = _bounds(figure, x)
    added = f"LEAST(GREATEST({sql.dialect.added.format(name)}, {total.least}), {total.most})"
    value = f"(CAST({added} AS {sql.dialect.real}) * {sql.real(total.step)})"
    return Figures(
        of_row=_steps(sql, x, total),
        of_unit=f"CASE WHEN COUNT({name}) > 0 THEN {value} END",
        column=Scalar(
            sql="",
            kind=_kind(x, total.step),
            low=total.least * total.step,
            high=total.most * total.step,
            grid=min(0, nearest_grid(total.step)),
        ),
    )


def _mean(sql: SQL, figure: UnitFigure, x: Scalar, name: str) -> Figures:
    total, real = _bounds(figure, x), sql.dialect.real
    added = f"CAST({sql.dialect.added.format(name)} AS {real})"
    quotient = f"({added} / CAST(NULLIF(COUNT({name}), 0) AS {real}) * {sql.real(total.step)})"
    low, high = total.low * total.step, total.high * total.step
    inside = f"LEAST(GREATEST({quotient}, {sql.real(low)}), {sql.real(high)})"
    return Figures(
        of_row=_steps(sql, x, total),
        of_unit=f"CASE WHEN COUNT({name}) > 0 THEN {inside} END",
        column=Scalar(
            sql="",
            kind="real",
            low=low,
            high=high,
            grid=min(0, nearest_grid(total.step * 2.0**-64)),
        ),
    )


def _kind(x: Scalar, step: float) -> Any:
    return "integer" if x.kind == "integer" and float(step).is_integer() else "real"


def _extreme(word: str) -> Callable[[SQL, UnitFigure, Scalar, str], Figures]:
    def way(sql: SQL, figure: UnitFigure, x: Scalar, name: str) -> Figures:
        del figure
        if x.kind == "boolean":
            raise InvalidParameter(word, "true or false", "numbers, texts or dates")
        if not x.unit and x.kind in NUMBERS:
            x = replace(x, sql=sql.number(x), whole=False, step=None)
        return Figures(of_row=x.sql, of_unit=f"{word}({name})", column=replace(x, size=1))

    return way


_FIGURES: Final[dict[str, Callable[[SQL, UnitFigure, Scalar, str], Figures]]] = {
    "rows": _values,
    "values": _values,
    "different": _different,
    "total": _total,
    "mean": _mean,
    "least": _extreme("MIN"),
    "greatest": _extreme("MAX"),
}
