"""Questions as ibis expressions, over tables that have columns and no data.

There are filter, select, mutate, join, group_by, aggregate, order_by and limit. ibis writes them
as SQL, which is read like any other: what may be asked is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.questions.scope import find_table
from quaestor.curator.sql import parse
from quaestor.curator.sql.text import DIALECT
from quaestor.errors import MissingExtra, RefusedQuery

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.query import Query

__all__ = ["from_ibis", "ibis_table"]

_TYPES = {
    "integer": "int64",
    "real": "float64",
    "text": "string",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}


def ibis_table(catalog: Catalog, name: str) -> Any:
    """A table of the catalog for ibis: its declared columns, and no data."""
    table = find_table(catalog, name)
    return _ibis().table(
        {column.name: _TYPES[column.kind] for column in table.columns}, name=table.name
    )


def from_ibis(
    expression: Any, catalog: Catalog, *, rows: int | None = None, groups: int | None = None
) -> Query:
    """The query that an ibis expression over tables of :func:`ibis_table` means."""
    ibis = _ibis()
    if not isinstance(expression, ibis.expr.types.Expr):
        raise RefusedQuery(
            "this is not an ibis expression", remedy="start with ibis_table(catalog, name)"
        )
    try:
        text = str(ibis.to_sql(expression, dialect=DIALECT))
    except Exception as error:  # noqa: BLE001  # ibis has errors of many kinds
        raise RefusedQuery(
            f"ibis cannot write this as SQL: {type(error).__name__}",
            remedy="use filter, select, mutate, join, group_by, aggregate, order_by and limit",
        ) from None
    return parse(text, catalog, rows=rows, groups=groups)


def _ibis() -> Any:
    try:
        import ibis
    except ImportError:  # pragma: no cover  # the tests have it
        raise MissingExtra("ibis-framework", extra="ibis", purpose="asking with ibis") from None
    return ibis
