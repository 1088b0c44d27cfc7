"""The engine: plans, runs, and tells nobody what the database said."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from quaestor.curator.engines.gathering import gathered
from quaestor.curator.engines.planning import Planner, Step
from quaestor.errors import EngineFailed, InvalidParameter, QuaestorError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.engines.base import Measured
    from quaestor.curator.engines.dialects import Dialect
    from quaestor.curator.measures import Measure
    from quaestor.curator.query import Query

__all__ = ["Connection", "IbisEngine"]

_PLANS_KEPT = 256
_T = TypeVar("_T")


class Connection(Protocol):
    """One open database, whichever it is."""

    dialect: Dialect

    def table(self, table: Table) -> Any:
        """A table of the catalog as an ibis table."""

    def compiled(self, table: Any) -> str:
        """The SQL of an ibis table."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""

    def close(self) -> None:
        """Let go."""


class _Depth:
    """Room for expressions that are nested as deeply as the language allows, one plan at a time.

    Writing SQL takes some twenty calls a level, and Python gives up at a thousand.
    """

    def __init__(self) -> None:
        self._lock, self._before = threading.Lock(), 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self._before, 4_000))

    def __exit__(self, *_error: object) -> None:
        sys.setrecursionlimit(self._before)
        self._lock.release()


_DEPTH = _Depth()
Plan = list[tuple[Step, str]]


@dataclass(slots=True, kw_only=True)
class IbisEngine:
    """An engine that is reached through ibis."""

    catalog: Catalog
    connection: Connection
    _tables: dict[str, Any] = field(default_factory=dict, repr=False)
    _plans: OrderedDict[Any, Plan] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def check(self, query: Query, measures: Sequence[Measure]) -> None:
        """Plan the query, and keep the plan for :meth:`measure`; no row is read."""
        self._plan(query, tuple(measures))

    def measure(self, query: Query, measures: Sequence[Measure]) -> Measured:
        """Run the query; every failure looks the same."""
        plan = self._plan(query, tuple(measures))
        return _quietly(
            lambda: gathered(query, [(step, self.connection.rows(sql)) for step, sql in plan])
        )

    def close(self) -> None:
        """Let go of the connection."""
        self.connection.close()

    def _plan(self, query: Query, measures: tuple[Measure, ...]) -> Plan:
        with self._lock:
            return _quietly(lambda: self._remembered(query, measures))

    def _remembered(self, query: Query, measures: tuple[Measure, ...]) -> Plan:
        try:
            plan = self._plans.get((query, measures))
            if plan is None:
                plan = self._planned(query, measures)
                self._plans[query, measures] = plan
                if len(self._plans) > _PLANS_KEPT:
                    self._plans.popitem(last=False)
        except RecursionError:
            raise InvalidParameter(
                "expression", "one that is nested too deeply", "simpler: nest less"
            ) from None
        return plan

    def _planned(self, query: Query, measures: tuple[Measure, ...]) -> Plan:
        planner = Planner(
            catalog=self.catalog, opened=self._opened, dialect=self.connection.dialect
        )
        with _DEPTH:
            steps = planner.plan(query, measures)
            return [(step, self.connection.compiled(step.table)) for step in steps]

    def _opened(self, table: Table) -> Any:
        if table.name not in self._tables:
            self._tables[table.name] = self.connection.table(table)
        return self._tables[table.name]


def _quietly(action: Callable[[], _T]) -> _T:
    """What the action gives; what goes wrong below is never passed on, not even as a context."""
    try:
        return action()
    except QuaestorError as error:
        refusal: QuaestorError = error
    except Exception:  # noqa: BLE001 (whatever an engine says may be about somebody)
        refusal = EngineFailed()
    refusal.__context__ = None
    raise refusal
