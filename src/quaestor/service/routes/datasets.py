"""Datasets: what is declared of the tables, and nothing that was read from them."""

from __future__ import annotations

from typing import Any

from quaestor.curator.reports.table_description import public_description
from quaestor.service.core import TheService
from quaestor.service.problems import plain
from quaestor.service.rules import SIGNED_IN, RouteFamily

__all__ = ["routes"]

routes = RouteFamily("/api/v1/datasets", tag="datasets")


@routes.get("", may=SIGNED_IN)
def list_datasets(service: TheService) -> dict[str, Any]:
    """The datasets with their tables: columns, bounds, keys and units, as they are declared."""
    catalog = service.curator.catalog
    public = [plain(public_description(table)) for table in catalog.tables if not table.private]
    return {
        "datasets": [
            {
                "name": name,
                "tables": [
                    plain(public_description(table))
                    for table in catalog.tables
                    if table.dataset == name
                ],
            }
            for name in catalog.datasets
        ],
        "public_tables": public,
    }
