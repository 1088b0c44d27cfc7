"""The catalog: what the data owner has declared."""

from __future__ import annotations

from quaestor.curator.catalog.catalog_file import (
    CATALOG,
    catalog_from_toml,
    find_catalog,
    read_catalog,
)
from quaestor.curator.catalog.catalog_text import add_table, table_to_toml, write_starter
from quaestor.curator.catalog.model import (
    AccountPlan,
    Catalog,
    ColumnFacts,
    DashboardQuery,
    Source,
    Table,
)
from quaestor.curator.catalog.sources import columns_of

__all__ = [
    "CATALOG",
    "AccountPlan",
    "Catalog",
    "ColumnFacts",
    "DashboardQuery",
    "Source",
    "Table",
    "add_table",
    "catalog_from_toml",
    "columns_of",
    "find_catalog",
    "read_catalog",
    "table_to_toml",
    "write_starter",
]
