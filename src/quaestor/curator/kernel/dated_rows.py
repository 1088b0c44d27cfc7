"""Which rows a charge to blocks of time may read: those dated in them, and no others.

Dates are as the kernel reads them: a row without one, or with one outside the charged blocks, does
not count. With ``kept`` only rows of a unit's earliest blocks count, by rank over all of its dated
rows since the first block and before any condition of the analyst's. Later rows never change the
rank of earlier ones, so no clock is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.membership.time_blocks import check_blocks, span_of
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    import datetime as dt

    from quaestor.curator.scalars.scalar import SQL

__all__ = ["ChargedBlocks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedBlocks:
    """The blocks of time that are charged, and how many blocks of a unit count at all."""

    every: str
    labels: tuple[str, ...]
    first: str
    """The first block there is: rows before it have no rank."""
    kept: int | None = None
    """How many blocks of a unit count, its earliest ones; None if all do."""
    dates: tuple[tuple[str, str], ...] = ()
    """The tables that may be cut, each with the column that dates its rows; none if any may."""

    def __post_init__(self) -> None:
        """Check that they are blocks, each once and in order."""
        if check_blocks(self.labels, every=self.every, first=self.first) != self.labels:
            raise InvalidParameter("blocks", self.labels, "in their order")
        if self.kept is not None and (type(self.kept) is not int or self.kept < 1):
            raise InvalidParameter("kept", self.kept, "a positive number of blocks")
        if self.kept is not None and len(self.dates) > 1:
            raise InvalidParameter("dates", self.dates, "of one table, where blocks are kept")

    def check_date(self, table: str, column: str) -> None:
        """Refuse a table whose rows would be dated otherwise than when the blocks were fixed."""
        if self.dates and (table, column) not in self.dates:
            raise InvalidParameter("dates", (table, column), "what the account was opened with")

    def spans(self) -> list[tuple[dt.date, dt.date]]:
        """First days and days after, of runs of blocks that follow each other."""
        runs: list[tuple[dt.date, dt.date]] = []
        for label in self.labels:
            begin, after = span_of(label, self.every)
            if runs and runs[-1][1] == begin:
                begin = runs.pop()[0]
            runs.append((begin, after))
        return runs

    def charged(self, sql: SQL, day: str) -> str:
        """The condition that a day is in a charged block; not true of NULL."""
        runs = (
            f"({day} >= {sql.day(begin.isoformat())} AND {day} < {sql.day(after.isoformat())})"
            for begin, after in self.spans()
        )
        return f"({' OR '.join(runs)})"

    def since_first(self, sql: SQL, day: str) -> str:
        """The condition that a day is in any block."""
        return f"{day} >= {sql.day(span_of(self.first, self.every)[0].isoformat())}"

    def rank(self, sql: SQL, unit: str, day: str) -> str:
        """Which of the unit's blocks a row is in, its earliest being the first."""
        block = sql.dialect.first_of.format(day, self.every)
        return f"dense_rank() OVER (PARTITION BY {unit} ORDER BY {block})"
