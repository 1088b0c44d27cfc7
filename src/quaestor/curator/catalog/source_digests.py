"""By what the ledger knows a dataset: digests of its source, and of all that is declared of it.

The digest of a *source* is made of where rows are and of nothing else. Files: their absolute path
or pattern, links resolved, whichever engine reads them. Tables: the DuckDB file, the *name* of the
environment variable of a PostgreSQL server or the Spark master, and the table with its schema. The
digest of the *declaration* is made of everything that the catalog says of the dataset's private
tables, as it says it: names, sources, units, rows, groups, columns. What is at its default is left
out, so that a key that a later version adds changes no digest where it is not used.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import engine_kind
from quaestor.ledger import DatasetDigests
from quaestor.ledger.stored_text import canonical, digest

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog

__all__ = ["declared_of"]


def declared_of(catalog: Catalog, dataset: str) -> DatasetDigests | None:
    """What the catalog declares of a dataset; None if it knows no such dataset."""
    tables = sorted((t for t in catalog.tables if t.dataset == dataset), key=lambda t: t.name)
    if not tables:
        return None
    places = (engine_kind(t.source.engine).whereabouts(t.source, catalog.folder) for t in tables)
    return DatasetDigests(
        declaration=digest(canonical({"tables": [_plain(table) for table in tables]})),
        sources=tuple(digest(canonical({"source": list(place)})) for place in places),
    )


def _plain(value: Any) -> Any:
    """A declared value as JSON, in which different values differ."""
    if is_dataclass(value):
        each = ((one, getattr(value, one.name)) for one in fields(value))
        return {
            one.name: _plain(said)
            for one, said in each
            if one.default is MISSING or said != one.default
        }
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return {"date": value.isoformat()} if isinstance(value, dt.date) else value
