"""The declared columns of a table as plain values of their kinds: what a copy of it holds.

They are read by the kernel's own reading, on the engine where the table lives, without the limits
that the catalog declares. To read a copy with those limits is then to read the table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from quaestor.curator.kernel.columns import Mismatch, read, read_unit
from quaestor.curator.scalars.scalar import SQL
from quaestor.errors import SourceUnavailable

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import ColumnFacts, Table
    from quaestor.curator.kernel.relations import Base
    from quaestor.curator.language.expressions import Kind
    from quaestor.curator.scalars.dialect import Dialect

__all__ = ["PlainColumn", "plain_columns"]

_LARGEST: Final = 1e300
_FINEST: Final = 2.0**-38
"""A number that is read as zero where there is no granularity is less than half of such a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainColumn:
    """A column of a copy, and the expression in which the engine reads it from a row ``t``."""

    name: str
    kind: Kind
    sql: str


def plain_columns(table: Table, base: Base, dialect: Dialect) -> list[PlainColumn]:
    """The columns that the catalog declares, each of its kind; the unit exactly as it is.

    Raises:
        SourceUnavailable: the table does not have them, or a copy would be read otherwise.
    """
    there = {name.lower(): name for name in reversed(list(base.types))}
    there.update({name: name for name in base.types})
    return [_plain(facts, table, base, dialect, there) for facts in table.columns]


def _plain(
    facts: ColumnFacts, table: Table, base: Base, dialect: Dialect, there: dict[str, str]
) -> PlainColumn:
    name = there.get(facts.name) or there.get(facts.name.lower())
    if name is None:
        raise SourceUnavailable(table.name, f"it has no column {facts.name!r}")
    found = SQL(dialect), "t." + dialect.name_of(name), base.types[name]
    try:
        if facts.name == table.unit:
            value = read_unit(_unit(facts, table), *found)
        else:
            value = read(_without_limits(facts, table), *found)
    except Mismatch as problem:
        raise SourceUnavailable(table.name, str(problem)) from None
    return PlainColumn(name=facts.name, kind=value.kind, sql=value.sql)


def _unit(facts: ColumnFacts, table: Table) -> ColumnFacts:
    """The unit, if a copy tells all people apart whom the table does."""
    if facts.kind in {"integer", "text"}:
        return facts
    raise SourceUnavailable(
        table.name, f"its unit {facts.name!r} is a {facts.kind}: declare it as text to copy it"
    )


def _without_limits(facts: ColumnFacts, table: Table) -> ColumnFacts:
    steps = [step for step in (facts.granularity, facts.fine_granularity) if step is not None]
    if min(steps, default=1.0) < _FINEST:
        raise SourceUnavailable(
            table.name,
            f"its column {facts.name!r} has a granularity below {_FINEST:.2g}: declare a larger "
            "one to copy it",
        )
    widest = _LARGEST if facts.kind == "real" else None
    low = None if widest is None else -widest
    return replace(facts, low=low, high=widest, granularity=None)
