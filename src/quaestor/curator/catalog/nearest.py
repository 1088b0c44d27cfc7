"""Which catalog, and which ledger, is meant where none is named: the nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.catalog.catalog_file import CATALOG, find_catalog, read_catalog
from quaestor.errors import InvalidCatalog

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.catalog.model import Catalog

__all__ = ["catalog_path", "ledger_address", "nearest_catalog"]

_LEDGER = "ledger.db"


def catalog_path(given: Path | None = None) -> Path:
    """The catalog that was named, or the nearest one."""
    if given is None:
        return find_catalog()
    return given / CATALOG if given.is_dir() else given


def nearest_catalog(given: Path | None = None) -> Catalog | None:
    """The catalog that was named or, if there is one that can be read, the nearest."""
    if given is not None:
        return read_catalog(given)
    try:
        return read_catalog(find_catalog())
    except InvalidCatalog:
        return None


def ledger_address(given: str | None = None) -> str:
    """Where the ledger is: as it was given, or as the nearest catalog says, or in this folder."""
    if given is not None:
        return given
    try:
        path = find_catalog()
    except InvalidCatalog:
        return _LEDGER
    return read_catalog(path).ledger_address()
