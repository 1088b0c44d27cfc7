"""Engines that are open: one for each place where tables are."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from quaestor.curator.engines.engine import engine_for, place_of, tables_of
from quaestor.errors import EngineFailed

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.engines import Engine
    from quaestor.curator.kernel.measurement import Measurement

__all__ = ["EnginePool"]


class EnginePool:
    """Opens an engine when its tables are first asked about; many threads may ask at once."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._engines: dict[tuple[str, str | None], Engine] = {}
        self._lock = threading.Lock()

    @property
    def corrections(self) -> int:
        """How many figures had to be moved into their range."""
        with self._lock:
            return sum(engine.corrections for engine in self._engines.values())

    def prepared(self, measurement: Measurement) -> Engine:
        """The engine of a measurement's tables, which has planned it; no row is read."""
        engine = self._engine(tuple(tables_of(measurement.rows)))
        try:
            engine.prepare(measurement)
        except EngineFailed:
            self.forget(engine)
            raise
        return engine

    def _engine(self, tables: tuple[str, ...]) -> Engine:
        declared = [table for name in tables if (table := self.catalog.table(name))]
        place = place_of(declared[0])
        with self._lock:
            engine = self._engines.get(place)
        if engine is None or any(place_of(table) != place for table in declared):
            opened = engine_for(self.catalog, tables)
            with self._lock:
                engine = self._engines.setdefault(place, opened)
            if engine is not opened:  # somebody else was quicker
                opened.close()
        return engine

    def forget(self, engine: Engine) -> None:
        """Open the next one anew: a connection that failed may be broken."""
        with self._lock:
            self._engines = {p: each for p, each in self._engines.items() if each is not engine}

    def close(self) -> None:
        """Let go of all engines."""
        with self._lock:
            engines, self._engines = list(self._engines.values()), {}
        for engine in engines:
            engine.close()
