"""Answers in the forms that other programs read."""

from __future__ import annotations

import csv
import io
from datetime import date, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from quaestor.curator.answers.shown import cells, facts, headings
from quaestor.errors import MissingExtra

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.language.expressions import Kind, Value

__all__ = ["flat", "to_arrow", "to_csv", "to_pandas", "to_polars", "to_rich"]


def flat(answer: Answer) -> list[tuple[str, Kind, tuple[Value, ...]]]:
    """Columns with names of their own: figures are followed by ``_error``, ``_low``, ``_high``.

    Where the whole error was paid for, ``_whole_low`` and ``_whole_high`` come after these.
    """
    taken = {column.name for column in answer.columns}
    named: set[str] = set()

    def fresh(name: str, *, given: bool) -> str:
        while name in named or (not given and name in taken):
            name += "_"
        named.add(name)
        return name

    found: list[tuple[str, Kind, tuple[Value, ...]]] = []
    for column in answer.columns:
        found.append((fresh(column.name, given=True), column.kind, column.values))
        for suffix, values in (
            ("error", column.standard_errors),
            ("low", column.lower),
            ("high", column.upper),
            ("whole_low", column.whole_lower),
            ("whole_high", column.whole_upper),
        ):
            if values is not None:
                found.append((fresh(f"{column.name}_{suffix}", given=False), "real", values))
    return found


def to_csv(answer: Answer) -> str:
    """One line a row; what has no value is empty."""
    written = io.StringIO()
    columns = flat(answer)
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([name for name, _, _ in columns])
    writer.writerows(zip(*(values for _, _, values in columns), strict=True))
    return written.getvalue()


def to_arrow(answer: Answer) -> Any:
    """A pyarrow table; dates are dates."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtra("pyarrow", extra="curator", purpose="an Arrow table") from None
    kinds = {
        "integer": pa.int64(),
        "real": pa.float64(),
        "text": pa.string(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
    }
    columns = flat(answer)
    arrays = [pa.array(_native(values, kind), type=kinds[kind]) for _, kind, values in columns]
    return pa.Table.from_arrays(arrays, names=[name for name, _, _ in columns])


def _native(values: tuple[Value, ...], kind: Kind) -> list[Any]:
    if kind == "date":
        return [None if value is None else date.fromisoformat(str(value)) for value in values]
    if kind == "timestamp":
        return [None if value is None else datetime.fromisoformat(str(value)) for value in values]
    if kind == "real":
        return [None if value is None else float(value) for value in values]
    return list(values)


def to_pandas(answer: Answer) -> Any:
    """A pandas frame, by way of Arrow."""
    if find_spec("pandas") is None:
        raise MissingExtra("pandas", extra="pandas", purpose="a pandas frame")
    return to_arrow(answer).to_pandas()


def to_polars(answer: Answer) -> Any:
    """A polars frame, by way of Arrow."""
    try:
        import polars as pl
    except ImportError:
        raise MissingExtra("polars", extra="polars", purpose="a polars frame") from None
    return pl.from_arrow(to_arrow(answer))


def to_rich(answer: Answer) -> Any:
    """A rich table: each figure with its interval and the interval's confidence."""
    from rich.markup import escape
    from rich.table import Table

    said = [each for each in facts(answer) if each not in answer.notes]
    table = Table(caption="; ".join(said) or None, caption_justify="left")
    for heading in headings(answer):
        table.add_column(escape(heading.text), justify="right" if heading.right else "left")
    for row in cells(answer):
        table.add_row(*map(escape, row))
    return table
