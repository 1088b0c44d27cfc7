"""Engines: where private tables live, and where their exact measures are computed."""

from __future__ import annotations

from quaestor.curator.engines.base import Engine, Measured
from quaestor.curator.engines.opening import engine_for, tables_of

__all__ = ["Engine", "Measured", "engine_for", "tables_of"]
