"""The schema of a table on a PostgreSQL server; never a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quaestor.curator.catalog.model import address_in
from quaestor.curator.engines.schemas import divided, refuse, table_kinds
from quaestor.errors import MissingExtra

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Source
    from quaestor.curator.language.expressions import Kind

__all__ = ["TYPES", "read_columns"]

# Times of a day, intervals, bytes, documents, arrays and enumerations are of no kind.
TYPES: Final[dict[str, Kind]] = {
    **dict.fromkeys(("smallint", "integer", "bigint"), "integer"),
    **dict.fromkeys(("real", "double precision"), "real"),
    **dict.fromkeys(("text", "character varying", "character", "bpchar", "name", "uuid"), "text"),
    "boolean": "boolean",
    "date": "date",
    **dict.fromkeys(("timestamp with time zone", "timestamp without time zone"), "timestamp"),
}


def read_columns(source: Source) -> list[tuple[str, Kind | None]]:
    """Every column with its kind."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", extra="postgres", purpose="reading PostgreSQL") from None
    address = address_in(source.connection or "")
    schema, table = divided(source, "public")
    try:
        with psycopg.connect(address, connect_timeout=10) as connection:
            columns = connection.execute(
                "SELECT column_name, CASE WHEN data_type = 'numeric' AND numeric_scale IS NOT NULL"
                " THEN 'numeric(' || numeric_precision || ',' || numeric_scale || ')'"
                " ELSE data_type END FROM information_schema.columns"
                " WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
                [schema, table],
            ).fetchall()
    except psycopg.Error:  # its words may hold the address
        problem = f"the server that ${source.connection} names cannot be asked"
        refuse(source, problem, "check that it runs, and the variable's address, user, password")
    return table_kinds(source, columns, TYPES)
