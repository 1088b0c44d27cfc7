"""Engines: where private tables live, and how each is reached. Every engine is one folder.

The folder's ``__init__`` says how the catalog names its tables and imports no driver; ``dialect``
is its SQL, ``schema`` reads the columns of a table, ``connection`` runs statements. An engine is
known by its line in :data:`quaestor.curator.catalog.sources.ENGINES`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quaestor.curator.engines.engine import Connection, Engine, engine_for, tables_of

__all__ = ["Connection", "Engine", "engine_for", "tables_of"]


def __getattr__(name: str) -> Any:
    """Bring a name when it is first used: whoever reads a catalog does without the kernel."""
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module("quaestor.curator.engines.engine"), name)
