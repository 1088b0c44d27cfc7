"""Constants take the kind of what they stand with: NULL any kind, texts of dates that of dates."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from quaestor.curator.language.expressions import Constant, Expression
from quaestor.curator.language.text import spell
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.language.expressions import Kind

__all__ = ["alike", "as_date"]


def as_date(constant: Constant) -> Constant:
    """A text that the analyst wrote, as a date."""
    value = str(constant.value)
    try:
        day = dt.date.fromisoformat(value) if len(value) == 10 else None
    except ValueError:
        day = None
    if day is None:
        raise RefusedQuery(
            f"{spell(constant)} is not a date", remedy="write year, month, day: DATE '2026-01-31'"
        )
    return Constant(day.isoformat(), "date")


def alike(analysis: Analysis, *expressions: Expression) -> list[Expression]:
    """The same, where NULL and texts of dates take the kind of what they stand with."""
    kinds = [
        analysis.kind(e) for e in expressions if not isinstance(e, Constant) or e.value is not None
    ]
    if not kinds:
        return list(expressions)
    kind: Kind = "date" if "date" in kinds else "real" if "real" in kinds else kinds[0]
    made: list[Expression] = []
    for expression in expressions:
        if isinstance(expression, Constant) and expression.value is None:
            made.append(Constant(None, kind))
        elif kind == "date" and isinstance(expression, Constant) and expression.kind == "text":
            made.append(as_date(expression))
        else:
            made.append(expression)
    return made
