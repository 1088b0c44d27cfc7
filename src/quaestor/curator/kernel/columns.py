"""How a column of a base table is read: as its declared kind, inside its bounds, whatever it is.

Reading never fails because of a value: what cannot be read is NULL in that row. What cannot be read
without failing at all is refused by its storage type, before anything is charged.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from quaestor.curator.catalog.model import TextFormat
from quaestor.curator.scalars.casts import cast
from quaestor.curator.scalars.scalar import (
    GREATEST_WHOLE,
    SQL,
    Scalar,
    grid_of,
    nearest_grid,
)
from quaestor.curator.scalars.written_values import written_date, written_number, written_time

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import ColumnFacts

__all__ = ["Mismatch", "read", "read_unit"]

Storage = Literal["whole", "wide", "float", "decimal", "text", "printed", "boolean", "date", "time"]

_TYPES: Final[tuple[tuple[str, Storage], ...]] = (
    (r"(tiny|small|big)?int|integer|int[248]|u(tiny|small)int|uinteger", "whole"),
    (r"ubigint|u?hugeint", "wide"),
    (r"float|real|double( precision)?|float[48]", "float"),
    (r"(decimal|numeric)(\(\d+, ?-?\d+\))?|money", "decimal"),
    (r"varchar|text|string( collate .+)?|character varying(\(\d+\))?|citext", "text"),
    (r"character(\(\d+\))?|char\(\d+\)|bpchar|varchar\(\d+\)|name", "text"),
    (r"uuid|enum\(.*\)|json|jsonb|user-defined enum", "printed"),
    (r"boolean", "boolean"),
    (r"date", "date"),
    (r"timestamp(_s|_ms|_us|_ns|_ntz)?( with(out)? time zone)?", "time"),
)
_FIRST_DAY, _LAST_DAY = "0001-01-01", "9999-12-31"
"""Dates outside are moved to these: other calendars begin there, and so does infinity."""
_LEAST = 2.0**-40
_TINY, _LARGE = "1e-30", "1e30"  # of decimals, before they become floats
_WRITTEN = 60  # how long a date that was written as a text becomes, in terms
_USUAL = TextFormat()
_WHOLE_TEXT = "[+-]?[0-9]{1,18}"
_LONGEST_TEXT = 2**16  # bytes; a longer text is NULL
_LARGEST_JSONB = 2**13  # bytes before it is printed: 16 of them can be 131,072 digits


class Mismatch(Exception):
    """A column of the table cannot be read as the declared kind."""

    def __init__(self, facts: ColumnFacts, stored: str) -> None:
        super().__init__(
            f"its column {facts.name!r} is declared as {facts.kind}, but contains "
            f"{stored}: correct the kind in the catalog"
        )


@dataclass(frozen=True, slots=True)
class _Stored:
    """A column as the engine has it."""

    facts: ColumnFacts
    sql: SQL
    value: str
    type: str
    format: TextFormat

    @property
    def storage(self) -> Storage | None:
        """What kind of storage the engine's type is."""
        for pattern, storage in _TYPES:
            if re.fullmatch(pattern, self.type, re.IGNORECASE | re.DOTALL):
                return storage
        return None

    def text(self) -> str:
        """The value as a text that is compared by its bytes."""
        dialect = self.sql.dialect
        value = dialect.readable.format(self.value)
        if self.storage != "text":
            value = f"CAST({self.value} AS {dialect.text})"
        if self.type.lower() == "jsonb":  # as it is stored, and then as it is unpacked
            for unpacked in (f"jsonb_build_array({self.value})", self.value):
                value = f"CASE WHEN pg_column_size({unpacked}) <= {_LARGEST_JSONB} THEN {value} END"
        if self.storage in {"text", "printed"}:  # an engine may fail on what is longer
            value = (
                f"CASE WHEN {dialect.bytes_of.format(value)} <= {_LONGEST_TEXT} THEN {value} END"
            )
        if self.type.lower() in {"citext", "name", "bpchar"} or self.type.lower().startswith(
            "char"
        ):
            value = f"CAST({value} AS {dialect.text})"
        value = dialect.bytewise.format(value)
        if self.storage == "text" and self.format.null:
            words = ", ".join(map(self.sql.text, self.format.null))
            value = f"CASE WHEN {value} NOT IN ({words}) THEN {value} END"
        return value

    def real(self, low: float, high: float, small: float) -> str:
        """The value as a float from low to high, zero if it is smaller than ``small``; or NULL."""
        sql, value = self.sql, self.value
        first, last = sql.real(low), sql.real(high)
        if self.storage == "text":
            written = written_number(
                sql, self.text(), decimal=self.format.decimal, thousands=self.format.thousands
            )
            number = cast(sql, Scalar(sql=written, kind="text"), "real").sql
            return sql.clip(number, first, last, bare=False)
        if self.storage == "boolean":
            value = f"CAST({value} AS INT)"
        if self.storage == "decimal" and sql.dialect.strict:
            # Before it becomes a float: PostgreSQL's decimals can be larger than any, and smaller.
            value = f"CAST({value} AS numeric)"
            value = (
                f"CASE WHEN {value} = 'NaN' THEN NULL WHEN abs({value}) < {_TINY} THEN 0 "
                f"WHEN {value} > {_LARGE} THEN {_LARGE} WHEN {value} < -{_LARGE} THEN -{_LARGE} "
                f"ELSE {value} END"
            )
        number = f"CAST({value} AS {sql.dialect.real})"
        tests = f"WHEN {number} < {first} THEN {first} WHEN {number} <= {last} THEN {number}"
        if self.storage == "float":
            number = value if self.type.lower().startswith("double") else number
            tests = f"WHEN {number} < {first} THEN {first} WHEN {number} <= {last} THEN {number}"
            if sql.dialect.strict:  # a number next to zero would underflow when it is divided
                tests = f"WHEN abs({number}) < {sql.real(small)} THEN {sql.real(0.0)} {tests}"
            # NaN before all else: to engines it is larger than every number. And Parquet's least
            # and greatest numbers leave it out, so that DuckDB takes tests for true of all rows.
            tests = f"WHEN {sql.dialect.nan.format(number)} THEN {sql.nothing('real')} {tests}"
        return f"CASE {tests} WHEN {number} > {last} THEN {last} END"


def read_unit(
    facts: ColumnFacts, sql: SQL, value: str, stored: str, form: TextFormat = _USUAL
) -> Scalar:
    """The column that says whom a row is about, exactly as it is: no bounds, no rounding.

    Two people must never become one, or what one of them contributes would depend on the other.
    It is a 64-bit integer, or a text that is compared by its bytes.
    """
    column = _Stored(facts, sql, value, stored, form)
    storage, printed = column.storage, Scalar(sql=column.text(), kind="text")
    if facts.kind == "integer":
        if storage == "whole":
            return Scalar(sql=f"CAST({value} AS BIGINT)", kind="integer", whole=True)
        if storage == "text":
            number = f"CAST({sql.matching(column.text(), _WHOLE_TEXT)} AS BIGINT)"
            return Scalar(sql=number, kind="integer", whole=True)
        if storage == "wide":
            return printed
    if facts.kind == "date" and storage == "date":
        return printed
    if facts.kind == "text" and storage in {"text", "printed", "whole", "wide", "boolean", "date"}:
        return printed
    raise Mismatch(facts, stored)


def read(
    facts: ColumnFacts, sql: SQL, value: str, stored: str, form: TextFormat = _USUAL
) -> Scalar:
    """A column as analysts see it; ``form`` says how texts of numbers and dates are written."""
    column = _Stored(facts, sql, value, stored, form)
    return {
        "integer": _integer,
        "real": _real,
        "text": _text,
        "boolean": _boolean,
        "date": _date,
        "timestamp": _timestamp,
    }[facts.kind](column)


def _numeric(column: _Stored) -> Storage:
    storage = column.storage
    if storage not in {"whole", "wide", "float", "decimal", "text", "boolean"}:
        raise Mismatch(column.facts, column.type)
    return storage


def _ends(facts: ColumnFacts) -> tuple[float, float]:
    low = -GREATEST_WHOLE if facts.low is None else float(facts.low)
    high = GREATEST_WHOLE if facts.high is None else float(facts.high)
    return low, high


def _integer(column: _Stored) -> Scalar:
    low, high = _ends(column.facts)
    low, high = max(-GREATEST_WHOLE, math.ceil(low)), min(GREATEST_WHOLE, math.floor(high))
    if _numeric(column) == "whole":
        whole = f"CAST({column.value} AS BIGINT)"  # unsigned ones would not meet a negative bound
        value = column.sql.clip(whole, str(int(low)), str(int(high)), bare=True)
        value = f"CAST({value} AS BIGINT)"
    else:
        value = column.sql.integer(column.real(low, high, 0.25))
    return Scalar(sql=value, kind="integer", low=low, high=high, size=6, whole=True)


def _real(column: _Stored) -> Scalar:
    _numeric(column)
    facts, sql, (low, high) = column.facts, column.sql, _ends(column.facts)
    step = facts.granularity
    if step is None:
        inside = column.real(low, high, _LEAST)
        flat = (
            f"CASE WHEN abs({inside}) < {sql.real(_LEAST)} THEN {sql.real(0.0)} ELSE {inside} END"
        )
        return Scalar(sql=flat, kind="real", low=low, high=high, grid=nearest_grid(_LEAST), size=16)
    steps = f"{column.real(low, high, step / 4)} / {sql.real(step)}"
    first, last = (math.floor(end / step + 0.5) * step for end in (low, high))
    grid = min(grid_of(low), grid_of(high), nearest_grid(step))
    if first < low or last > high:  # a bound is rounded to a number beyond it
        value = f"({sql.nearest(steps)} * {sql.real(step)})"
        value = sql.clip(value, sql.real(low), sql.real(high), bare=False)
        return Scalar(sql=value, kind="real", low=low, high=high, grid=grid, size=20)
    return Scalar(
        sql=sql.integer(steps), kind="real", low=low, high=high, grid=grid, size=3, step=step
    )


def _text(column: _Stored) -> Scalar:
    if column.storage not in {"text", "printed", "whole", "wide", "boolean", "date"}:
        raise Mismatch(column.facts, column.type)
    return Scalar(sql=column.text(), kind="text")


def _boolean(column: _Stored) -> Scalar:
    storage = column.storage
    if storage == "text":
        return cast(column.sql, Scalar(sql=column.text(), kind="text"), "boolean")
    if storage == "whole":
        return Scalar(sql=f"({column.value} <> 0)", kind="boolean")
    if storage != "boolean":
        raise Mismatch(column.facts, column.type)
    return Scalar(sql=column.value, kind="boolean")


def _date(column: _Stored) -> Scalar:
    storage, value = column.storage, column.value
    if storage == "text":
        written = written_date(column.sql, column.text(), column.format.date_format)
        return Scalar(sql=written, kind="date", size=_WRITTEN)
    if storage == "time":
        dialect = column.sql.dialect
        zoned = column.type.lower().endswith("with time zone")
        value = (dialect.zoned if zoned else dialect.moment).format(value)
    elif storage != "date":
        raise Mismatch(column.facts, column.type)
    first, last = (column.sql.day(day) for day in (_FIRST_DAY, _LAST_DAY))
    return Scalar(sql=column.sql.clip(value, first, last, bare=True), kind="date", size=6)


def _timestamp(column: _Stored) -> Scalar:
    storage, dialect = column.storage, column.sql.dialect
    if storage == "text":
        value = written_time(column.sql, column.text(), column.format.date_format)
    elif storage == "time":
        zoned = column.type.lower().endswith("with time zone")
        value = (dialect.zoned_instant if zoned else dialect.instant).format(column.value)
    elif storage == "date":
        value = f"CAST({_date(column).sql} AS {dialect.time})"
    else:
        raise Mismatch(column.facts, column.type)
    return Scalar(sql=value, kind="timestamp", size=_WRITTEN)
