"""Engines: where private tables live, and how each is reached."""

from __future__ import annotations

from quaestor.curator.engines.engine import Engine
from quaestor.curator.engines.registry import engine_for, tables_of

__all__ = ["Engine", "engine_for", "tables_of"]
