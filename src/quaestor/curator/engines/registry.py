"""Opening the engine where tables live: the names under which callers know it."""

from __future__ import annotations

from quaestor.curator.engines.engine import engine_for, place_of, tables_of

__all__ = ["engine_for", "place_of", "tables_of"]
