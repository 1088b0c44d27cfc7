"""Answers as people read them: headings and cells as texts, the same in every document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.documents.text_table import Heading

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer, AnswerColumn
    from quaestor.curator.language.expressions import Value

__all__ = ["cells", "facts", "headings", "shown_value"]


def headings(answer: Answer) -> list[Heading]:
    """One for each column; a figure's says how surely its noise interval holds.

    A tilde marks what is approximate. The interval for the whole error has a column of its own.
    """
    found = []
    for column in answer.columns:
        mark = "~" if column.approximate else ""
        sure = f" ({mark}{answer.confidence:.6g})" if column.lower is not None else ""
        found.append(Heading(f"{column.name}{sure}", column.kind in {"integer", "real"}))
        if column.whole_lower is not None:
            found.append(Heading(f"{column.name}, whole error{sure}", right=True))
    return found


def cells(answer: Answer) -> list[list[str]]:
    """One list for each row: every figure with its intervals."""
    return [
        [cell for column in answer.columns for cell in _cells(column, row)]
        for row in range(len(answer))
    ]


def _cells(column: AnswerColumn, row: int) -> list[str]:
    if column.whole_lower is None or column.whole_upper is None:
        return [_cell(column, row)]
    lower, upper = column.whole_lower[row], column.whole_upper[row]
    whole = "" if lower is None else f"{shown_value(lower)} to {shown_value(upper)}"
    return [_cell(column, row), whole]


def _cell(column: AnswerColumn, row: int) -> str:
    value = shown_value(column.values[row])
    if column.lower is None or column.upper is None:
        return value
    lower, upper = column.lower[row], column.upper[row]
    return f"{value} ({shown_value(lower)} to {shown_value(upper)})" if lower is not None else value


def shown_value(value: Value) -> str:
    """A value with six digits at most, but for whole numbers; nothing for no value."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def facts(answer: Answer) -> list[str]:
    """What belongs below the table: notes, receipt and cost."""
    found = list(answer.notes)
    if answer.data_version:
        found.append(f"data version {answer.data_version}")
    if answer.receipt is not None:
        whose = "" if answer.account is None else f" of account {answer.account}"
        found.append(f"receipt {answer.receipt}{whose}")
    if answer.epsilon is not None:
        at = "" if answer.delta is None else f" at delta {answer.delta:g}"
        found.append(f"cost epsilon {answer.epsilon:.6g}{at}")
    return found
