"""The engines of a process: one for each place where tables are, shared by all questions."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from quaestor.curator.engines.engine import copies_of, engine_for, place_of, tables_of
from quaestor.errors import EngineFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.engines.engine import Engine
    from quaestor.curator.engines.engine_work import EngineWork
    from quaestor.curator.kernel.measurement import Measurement

__all__ = ["EnginePool"]

_COPIES: Final = "copies"


class EnginePool:
    """Opens an engine when its tables are first asked about; many threads may ask at once."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._engines: dict[tuple[str | None, ...], Engine] = {}
        self._lock = threading.Lock()

    @property
    def corrections(self) -> int:
        """How many figures had to be moved into their range."""
        with self._lock:
            return sum(engine.corrections for engine in self._engines.values())

    def work(self) -> list[EngineWork]:
        """What engines that can tell have under way; an engine that fails to tell has none."""
        with self._lock:
            engines = list(self._engines.values())
        found: list[EngineWork] = []
        for engine in engines:
            way: Callable[[], list[EngineWork]] = getattr(engine.connection, "work", list)
            with suppress(Exception):
                found += way()
        return found

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
        same = all(place_of(table) == place for table in declared)
        copies = copies_of(self.catalog, declared) if same else None
        asked = place if copies is None else (_COPIES, *sorted(set(tables)))
        with self._lock:
            if copies is None:  # those that there were may be deleted, and are not kept open
                self._engines.pop((_COPIES, *sorted(set(tables))), None)
            engine = self._engines.get(asked)
        if engine is None or engine.copies != copies or not same:
            opened = engine_for(self.catalog, tables)
            with self._lock:
                known = self._engines.get(asked)
                if known is None or known.copies != opened.copies:
                    self._engines[asked] = known = opened
            if known is not opened:  # somebody else was quicker
                opened.close()
            engine = known
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
