"""What is over a limit, and what is not: most units are within limits, and need no ranking.

Where the engine reads a common table once, rows are held in one, and those of whoever is over the
limit are told from the others there. Both parts are of the same rows, whatever happens to the table
meanwhile: no row is in both, and none is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quaestor.curator.scalars.scalar import SQL

__all__ = ["Parted", "few_of_each"]

_NEVER_NULL: Final = {"u", "g"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """Rows held in a common table, in two parts: of those over a limit, and of the others.

    ``by`` are the columns that say whose limit it is: the unit and its cell. The unit and a cell's
    number are never NULL; codes of private groups may be, and NULL is a group like others. Who is
    over the limit is a statement that reads ``held``, or one of the ``more`` tables, which read it;
    it returns nobody twice. So the parts are joined to it: DuckDB runs a correlated ``EXISTS`` by
    counting the different values of all rows first, which takes longer than the whole rest.
    """

    table: str
    rows: str
    by: Sequence[str]
    over_limit: str
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> str:
        """The common tables, to be written before the statement that reads the parts."""
        tables = {"held": self.rows, **self.more, "over_limit": self.over_limit}
        return f"WITH {', '.join(self.table.format(*each) for each in tables.items())}"

    def within(self, names: Sequence[str], table: str = "held") -> str:
        """The rows of those who are not over the limit."""
        return f"{self._joined('LEFT JOIN', names, table)} WHERE o.over_u IS NULL"

    def over(self, names: Sequence[str], table: str = "held") -> str:
        """The rows of those who are."""
        return self._joined("JOIN", names, table)

    def _joined(self, join: str, names: Sequence[str], table: str) -> str:
        """Columns of a table, beside who is over the limit under names that no column has."""
        renamed = ", ".join(f"{of} AS over_{of}" for of in self.by)
        same = " AND ".join(
            f"o.over_{of} = h.{of}"
            if of in _NEVER_NULL
            else f"o.over_{of} IS NOT DISTINCT FROM h.{of}"
            for of in self.by
        )
        return (
            f"SELECT {', '.join(names)} FROM {table} h "  # noqa: S608
            f"{join} (SELECT {renamed} FROM over_limit) o ON {same}"
        )


def few_of_each(sql: SQL, rows: str, names: list[str], *, rank: str, most: int) -> str:
    """Rows of each unit ``u`` whose place by ``rank``, a window of it, is at most ``most``.

    Places are at most as many as a unit's rows, so that units with no more rows than ``most`` keep
    all of them. Where the engine reads a common table once, only the rows of the others are ranked:
    ranking (a mark and a sort) costs far more than finding out who they are. The rows that are kept
    are the same, whoever is ranked.
    """
    listed, held = ", ".join(names), sql.dialect.common_table

    def ranked(source: str) -> str:
        placed = f"SELECT {listed}, {rank} AS place FROM ({source}) w"  # noqa: S608
        return f"SELECT {listed} FROM ({placed}) k WHERE place <= {int(most)}"  # noqa: S608

    if held is None:
        return ranked(rows)
    over = f"SELECT u FROM held GROUP BY u HAVING COUNT(*) > {int(most)}"  # noqa: S608
    parted = Parted(table=held, rows=rows, by=["u"], over_limit=over)
    return f"{parted.tables} {parted.within(names)} UNION ALL {ranked(parted.over(names))}"
