"""How columns are read: into their declared kind and bounds, whatever the table holds."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.casts import FIRST_DAY, LAST_DAY, cast, matching
from quaestor.curator.engines.cells import (
    GREATEST_WHOLE,
    Cell,
    clipped,
    floored,
    grid_of,
    literal,
    nearest_grid,
    nothing,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.catalog.model import ColumnFacts
    from quaestor.curator.engines.dialects import Dialect

__all__ = ["Mismatch", "in_steps", "read", "read_unit"]

_LEAST = 2.0**-40
_TINY = Decimal("1e-30")
_WHOLE_TEXT = "[+-]?[0-9]{1,18}"


class Mismatch(Exception):
    """A column of the table is not of the declared kind."""

    def __init__(self, facts: ColumnFacts, dtype: Any) -> None:
        super().__init__(
            f"its column {facts.name!r} is declared {facts.kind}, but holds {dtype}: "
            "correct the kind in the catalog"
        )


def read_unit(value: Any, facts: ColumnFacts) -> Cell:
    """The column that says whom a row is about, exactly as it is: no bounds, no rounding.

    Two people must never become one, or what one of them contributes would depend on the other.
    """
    dtype = value.type()
    if facts.kind == "integer":
        if dtype.is_string():
            value = matching(value, _WHOLE_TEXT).cast("int64")
        elif not dtype.is_integer() or dtype.is_uint64():
            raise Mismatch(facts, dtype)
        return Cell(value=value.cast("int64"), kind="integer", low=-(2.0**63), high=2.0**63)
    if facts.kind == "date" and dtype.is_date():
        return Cell(value=value, kind="date")
    if facts.kind == "text":
        return _read_text(value, facts)
    raise Mismatch(facts, dtype)


def in_steps(value: Any, facts: ColumnFacts, dialect: Dialect) -> Any | None:
    """A real column as a whole number of granules: what its value is made of."""
    if facts.kind != "real" or facts.granularity is None or _clipped_after(facts):
        return None
    inside = _inside(value, facts, dialect, _ends(facts))
    return floored(inside / literal(facts.granularity) + literal(0.5))


def read(value: Any, facts: ColumnFacts, dialect: Dialect) -> Cell:
    """A column as analysts see it."""
    if facts.kind == "integer":
        return _read_integer(value, facts, dialect)
    if facts.kind == "real":
        return _read_real(value, facts, dialect)
    return _READERS[facts.kind](value, facts)


def _read_integer(value: Any, facts: ColumnFacts, dialect: Dialect) -> Cell:
    low = max(-GREATEST_WHOLE, math.ceil(_or(facts.low, -GREATEST_WHOLE)))
    high = min(GREATEST_WHOLE, math.floor(_or(facts.high, GREATEST_WHOLE)))
    if value.type().is_integer():
        inside = clipped(value, int(low), int(high)).cast("int64")
    else:
        inside = floored(_inside(value, facts, dialect, (low, high)) + literal(0.5))
    return Cell(value=inside, kind="integer", low=low, high=high, size=6)


def _read_real(value: Any, facts: ColumnFacts, dialect: Dialect) -> Cell:
    import ibis

    low, high = _ends(facts)
    inside = _inside(value, facts, dialect, (low, high))
    ends = min(grid_of(low), grid_of(high))
    step = facts.granularity
    if step is None:
        small = inside.abs() < literal(_LEAST)
        flat = ibis.cases((small, literal(0.0)), else_=inside)
        return Cell(value=flat, kind="real", low=low, high=high, grid=nearest_grid(_LEAST), size=16)
    rounded = floored(inside / literal(step) + literal(0.5), "float64") * literal(step)
    if _clipped_after(facts):
        rounded = clipped(rounded, literal(low), literal(high))
    grid = min(ends, nearest_grid(step))
    return Cell(value=rounded, kind="real", low=low, high=high, grid=grid, size=20)


def _ends(facts: ColumnFacts) -> tuple[float, float]:
    return _or(facts.low, -GREATEST_WHOLE), _or(facts.high, GREATEST_WHOLE)


def _clipped_after(facts: ColumnFacts) -> bool:
    """Whether a bound is rounded to a number beyond it."""
    low, high = _ends(facts)
    step = facts.granularity or 1.0
    first, last = (math.floor(end / step + 0.5) * step for end in (low, high))
    return first < low or last > high


def _or(value: float | None, default: float) -> float:
    return default if value is None else float(value)


def _inside(value: Any, facts: ColumnFacts, dialect: Dialect, ends: tuple[float, float]) -> Any:
    """The column as a float inside the bounds, or NULL."""
    import ibis

    low, high = (literal(end) for end in ends)
    dtype = value.type()
    if dtype.is_string():
        return clipped(cast(Cell(value=value, kind="text"), "real").value, low, high)
    if dtype.is_boolean():
        return clipped(value.cast("int32").cast("float64"), low, high)
    if dtype.is_integer():
        return clipped(value.cast("float64"), low, high)
    if not (dtype.is_floating() or dtype.is_decimal()):
        raise Mismatch(facts, dtype)
    real = value
    if dtype.is_decimal() and dialect.name == "postgres":
        # Before it becomes a float: PostgreSQL's decimals can be larger than any, and smaller.
        tiny = value.abs() < ibis.literal(_TINY)
        seen = ibis.cases((tiny, ibis.literal(Decimal(0))), else_=value)
        real = clipped(seen, ibis.literal(Decimal(-(10**30))), ibis.literal(Decimal(10**30)))
    real = real.cast("float64")
    nan = dialect.is_nan(value)
    # NaN before what is above: to DuckDB and PostgreSQL it is larger than every number.
    middle = () if nan is None else ((nan, nothing("real")),)
    return ibis.cases((real < low, low), (real <= high, real), *middle, (real > high, high))


def _read_text(value: Any, facts: ColumnFacts) -> Cell:
    dtype = value.type()
    if dtype.is_floating() or dtype.is_decimal() or dtype.is_nested() or dtype.is_timestamp():
        raise Mismatch(facts, dtype)
    return Cell(value=value if dtype.is_string() else value.cast("string"), kind="text")


def _read_boolean(value: Any, facts: ColumnFacts) -> Cell:
    dtype = value.type()
    if dtype.is_string():
        return cast(Cell(value=value, kind="text"), "boolean")
    if dtype.is_integer():
        return Cell(value=value != 0, kind="boolean")
    if not dtype.is_boolean():
        raise Mismatch(facts, dtype)
    return Cell(value=value, kind="boolean")


def _read_date(value: Any, facts: ColumnFacts) -> Cell:
    import ibis

    dtype = value.type()
    if dtype.is_string():
        return cast(Cell(value=value, kind="text"), "date")
    if dtype.is_timestamp():
        value = value.cast("date")
    elif not dtype.is_date():
        raise Mismatch(facts, dtype)
    first, last = (ibis.literal(day).cast("date") for day in (FIRST_DAY, LAST_DAY))
    return Cell(value=clipped(value, first, last), kind="date", size=6)


_READERS: dict[str, Callable[[Any, ColumnFacts], Cell]] = {
    "text": _read_text,
    "boolean": _read_boolean,
    "date": _read_date,
}
