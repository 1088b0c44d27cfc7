"""Columns of which a PostgreSQL server enforces that no value is in two rows.

Statements that rely on one do not add rows up by unit, so it has to be certain for the very rows
that they read:

- The question to the server's catalog and the statement run in one transaction that reads a single
  snapshot. A row of it was written while the index that the snapshot has enforced its rule.
- Before that snapshot the table is locked against being changed by others (ACCESS SHARE), so that
  the table is not written anew under it, with columns of another type for example.
- The statement keeps rows of the table that was asked about, by its number (``tableoid``). Names
  can change their meaning meanwhile: a schema is renamed, or a table with rows inherits from it.

An index is believed if it is a valid btree index of one column of an ordinary table that has no
children, with PostgreSQL's own comparison; not one of an expression, of some rows only, or that is
checked at the end of a transaction. Texts have to be sorted by their bytes: where the system sorts
them, an update of the system can break an index, and let duplicates in.

Servers that only speak PostgreSQL's language are not believed: some of them have keys that they do
not enforce. Nor are those that spread a table over several machines.

Rows without a unit are left out of every question, so it does not matter that many may be NULL.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from quaestor.curator.kernel.relations import Base

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["UniqueColumns", "unique_columns"]

_BYTEWISE: Final = (
    "(i.indcollation[0] = 0 OR EXISTS (SELECT 1 FROM pg_catalog.pg_collation c "
    "JOIN pg_catalog.pg_database d ON d.datname = current_database() "
    "CROSS JOIN LATERAL (SELECT CASE c.collprovider WHEN 'd' "
    "THEN coalesce(to_jsonb(d) ->> 'datlocprovider', 'c') ELSE c.collprovider::text END AS kind, "
    "CASE c.collprovider WHEN 'd' THEN d.datcollate ELSE c.collcollate END AS locale) s "
    "WHERE c.oid = i.indcollation[0] "
    "AND (s.kind = 'b' OR (s.kind = 'c' AND s.locale IN ('C', 'POSIX')))))"
)
_POSTGRESQL: Final = (
    r"version() ~ '^PostgreSQL [1-9][0-9][0-9.]*( \((Debian|Ubuntu|Homebrew)[^)]*\))? on ' "
    "AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'citus')"
)
_INDEXED: Final = (
    "SELECT t.oid, quote_ident(s.nspname) || '.' || quote_ident(t.relname), a.attname, "
    "pg_catalog.format_type(CASE WHEN p.typtype = 'd' THEN p.typbasetype ELSE p.oid END, NULL) "
    "FROM pg_catalog.pg_class t "
    "JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace "
    "JOIN pg_catalog.pg_am heap ON heap.oid = t.relam AND heap.amname = 'heap' "
    "JOIN pg_catalog.pg_index i ON i.indrelid = t.oid "
    "JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid "
    "JOIN pg_catalog.pg_am m ON m.oid = x.relam AND m.amname = 'btree' "
    "JOIN pg_catalog.pg_opclass o ON o.oid = i.indclass[0] "
    "AND o.opcnamespace = 'pg_catalog'::regnamespace "
    "JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[0] "
    "AND a.attnum > 0 AND NOT a.attisdropped "
    "JOIN pg_catalog.pg_type p ON p.oid = a.atttypid "
    "WHERE t.oid = to_regclass('{0}') AND has_table_privilege(t.oid, 'SELECT') "
    "AND t.relkind = 'r' AND i.indnkeyatts = 1 AND i.indisunique "
    "AND i.indimmediate AND i.indisvalid AND i.indisready AND i.indislive "
    "AND NOT i.indisexclusion AND i.indexprs IS NULL AND i.indpred IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_inherits h WHERE h.inhparent = t.oid) "
    "AND {1} AND {2}"
)


@dataclass(frozen=True, slots=True)
class UniqueColumns:
    """The columns of one table that are unique, each alone, with their types."""

    number: int
    name: str
    """With its schema."""
    declared: str
    """As the catalog has it, which may leave the schema to the server."""
    columns: frozenset[tuple[str, str]]

    @property
    def rows(self) -> str:
        """What statements that rely on it read: the rows of this table, whatever its name means.

        With a mark of the columns, so that a statement is held to the keys it was written by, and
        not to those of an earlier or a later look at the table.
        """
        mark = sha256(repr(sorted(self.columns)).encode()).hexdigest()[:16]
        rows = f"SELECT * FROM ONLY {self.name} WHERE tableoid = {int(self.number)}"  # noqa: S608
        return f"({rows} /* {mark} */)"

    @property
    def lock(self) -> str:
        """A statement that keeps others from changing the table until the transaction ends."""
        return f"LOCK TABLE ONLY {self.name} IN ACCESS SHARE MODE"

    def base(self, types: dict[str, str]) -> Base:
        """The table for statements that rely on it.

        Columns are read by ``types``, which were asked for before; a column that had another type
        then is not unique as it is read: ``1`` and ``01`` are two texts, and one number.
        """
        same = frozenset(name for name, kind in self.columns if types.get(name) == kind)
        return Base(sql=self.rows, types=types, unique=same)

    def holds(self, rows: Callable[[str], list[tuple[Any, ...]]]) -> bool:
        """Whether it is still so in the snapshot of a transaction."""
        now = unique_columns(self.declared, rows)
        if now is None or (now.number, now.name) != (self.number, self.name):
            return False
        return self.columns <= now.columns


def unique_columns(
    declared: str, rows: Callable[[str], list[tuple[Any, ...]]]
) -> UniqueColumns | None:
    """The unique columns of a table, by a name that may leave its schema to the server."""
    found = rows(_INDEXED.format(declared.replace("'", "''"), _BYTEWISE, _POSTGRESQL))
    columns = frozenset((name, kind) for *_, name, kind in found)
    return UniqueColumns(found[0][0], found[0][1], declared, columns) if found else None
