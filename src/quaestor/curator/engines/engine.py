"""The engine of a question's tables: it prepares measurements on one connection.

It tells nobody what the database said.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from quaestor.curator.catalog.model import engine_kind
from quaestor.curator.engines.schemas import SchemaChanged
from quaestor.curator.kernel.figures import prepare
from quaestor.curator.language.expressions import Column
from quaestor.curator.language.query import Filtered, Join, PerUnit, Projected, Scan, Union
from quaestor.errors import EngineFailed, InvalidParameter, QuaestorError, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.engines.engine_work import EngineWork
    from quaestor.curator.kernel.engine_columns import EngineColumns
    from quaestor.curator.kernel.figures import Exact, KeptGroups, Prepared
    from quaestor.curator.kernel.measurement import Measurement
    from quaestor.curator.kernel.relations import Base, KeptRows
    from quaestor.curator.language.query import Relation
    from quaestor.curator.scalars.dialect import Dialect

__all__ = [
    "Connection",
    "Engine",
    "EnginePool",
    "columns_from",
    "engine_for",
    "kept_rows_of",
    "place_of",
    "tables_of",
]

_PREPARED_KEPT = 256
_ANYTHING = "SELECT 1"
_COPIES = "copies"
_T = TypeVar("_T")


class Connection(Protocol):
    """One open database, whichever it is."""

    dialect: Dialect

    def base(self, table: Table) -> Base:
        """A table of the catalog, where it lives; types have names that the kernel reads."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""

    def close(self) -> None:
        """Let go."""


def columns_from(connection: Connection, sql: str) -> EngineColumns | list[tuple[Any, ...]]:
    """The columns of a statement, if the connection has a way to hand them over; else its rows."""
    way: Callable[[str], EngineColumns | list[tuple[Any, ...]]]
    way = getattr(connection, "columns", connection.rows)
    return way(sql)


def kept_rows_of(connection: Connection) -> KeptRows | None:
    """Where rows of one question are kept, if the connection has a way to keep them."""
    way: Callable[[], KeptRows | None] = getattr(connection, "kept_rows", lambda: None)
    return way()


class _Quiet:
    """A connection whose failures all look the same."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self.dialect = connection, connection.dialect
        self._bases: dict[str, Base] = {}

    def base(self, table: Table) -> Base:
        if table.name not in self._bases:
            self._bases[table.name] = _quietly(lambda: self._connection.base(table))
        return self._bases[table.name]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return _quietly(lambda: self._connection.rows(sql))

    def columns(self, sql: str) -> EngineColumns | list[tuple[Any, ...]]:
        return _quietly(lambda: columns_from(self._connection, sql))

    def kept_rows(self) -> KeptRows | None:
        rows = _quietly(lambda: kept_rows_of(self._connection))
        return None if rows is None else _QuietRows(rows)


class _QuietRows:
    """The same of rows that an engine keeps."""

    def __init__(self, rows: KeptRows) -> None:
        self._rows = rows

    def keep(self, sql: str, *, by: str = "") -> str:
        return _quietly(lambda: self._rows.keep(sql, by=by))

    def offer(self, numbers: NDArray[np.int64]) -> str:
        return _quietly(lambda: self._rows.offer(numbers))

    def columns(self, sql: str) -> EngineColumns | list[tuple[Any, ...]]:
        return _quietly(lambda: self._rows.columns(sql))

    def close(self) -> None:
        with suppress(Exception):
            self._rows.close()


@dataclass(slots=True, kw_only=True)
class Engine:
    """Where the tables of a question live."""

    catalog: Catalog
    connection: Connection
    copies: Any = None
    """The prepared copies that are asked in place of a server, if they are."""
    corrections: int = 0
    """How many figures that came back had to be corrected: for the data owner alone."""
    _quiet: _Quiet = field(init=False, repr=False)
    _prepared: OrderedDict[Measurement, Prepared] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        """Hide what the database says."""
        self._quiet = _Quiet(self.connection)

    @property
    def notes(self) -> tuple[str, ...]:
        """What answers say of the rows that are read: of copies, as of when they are."""
        return () if self.copies is None else self.copies.notes

    def prepare(self, measurement: Measurement) -> Prepared:
        """Write a measurement's statements, and keep them; no private row is read.

        Raises:
            EngineFailed: whatever went wrong; the error says nothing of it.
        """
        with self._lock:
            with suppress(SchemaChanged):  # of a public table that is looked at
                return _quietly(lambda: self._remembered(measurement))
            self._forget_schemas()
            with suppress(SchemaChanged):
                return _quietly(lambda: self._remembered(measurement))
        raise EngineFailed

    def reach(self) -> None:
        """See that the database answers at all, before a statement about private rows is sent.

        A connection that broke while nobody used it is made anew.

        Raises:
            EngineFailed: it does not answer.
        """
        for _ in range(2):
            with suppress(QuaestorError):
                _quietly(lambda: self.connection.rows(_ANYTHING))
                return
        raise EngineFailed

    def keeps(self, measurement: Measurement) -> bool:
        """Whether figures stay here until it is drawn which groups are shown: so far as is public.

        It is a matter of the engine and the keys alone.
        """
        return measurement.cells.count is None and hasattr(self.connection, "kept_rows")

    def measure(self, measurement: Measurement) -> tuple[Prepared, Exact | KeptGroups]:
        """The exact figures of a measurement, and what draws noise on them.

        Statements that rely on a schema that has changed are written once more.

        Raises:
            EngineFailed: whatever went wrong; the error says nothing of it.
        """
        for _ in range(2):
            prepared = self.prepare(measurement)
            with suppress(SchemaChanged):
                return prepared, _quietly(prepared.measured)
            with self._lock:
                self._forget_schemas()
        raise EngineFailed

    def count_corrections(self, exact: Exact | KeptGroups) -> None:
        """Count the figures that had to be corrected, once they have come back."""
        with self._lock:
            self.corrections += exact.corrections

    def close(self) -> None:
        """Let go of the connection."""
        self.connection.close()

    def _forget_schemas(self) -> None:
        """Write statements anew, for tables as they are now."""
        self._prepared.clear()
        self._quiet = _Quiet(self.connection)

    def _remembered(self, measurement: Measurement) -> Prepared:
        try:
            prepared = self._prepared.get(measurement)
            if prepared is None:
                prepared = prepare(
                    measurement,
                    table=self.catalog.table,
                    wanted=frozenset(_names(measurement)),
                    database=self._quiet,
                )
                self._prepared[measurement] = prepared
                if len(self._prepared) > _PREPARED_KEPT:
                    self._prepared.popitem(last=False)
        except RecursionError:
            raise InvalidParameter(
                "expression", "one that is nested too deeply", "simpler: nest less"
            ) from None
        return prepared


def engine_for(catalog: Catalog, tables: Iterable[str]) -> Engine:
    """An engine on which all these tables are; nothing of them is read yet.

    Raises:
        SourceUnavailable: the server does not answer, or the tables live in different places.
    """
    found = [_declared(catalog, name) for name in dict.fromkeys(tables)]
    if not found:
        raise InvalidParameter("tables", [], "at least one table")
    first = found[0]
    for table in found[1:]:
        if place_of(table) != place_of(first):
            raise SourceUnavailable(
                table.name,
                (
                    f"it is not in the same database as {first.name}: joined tables must be in "
                    "one database; copy the public one there"
                ),
            )
    copies = _copies(catalog, found)
    if copies is not None:
        return Engine(catalog=catalog, connection=copies.connection(catalog), copies=copies)
    connection = engine_kind(first.source.engine).connection(catalog, first)
    return Engine(catalog=catalog, connection=connection)


def _copies(catalog: Catalog, tables: list[Table]) -> Any | None:
    """Prepared copies of all these tables, to be asked in place of the server that has them."""
    kind = engine_kind(tables[0].source.engine)
    snapshots = kind.snapshots(catalog) if kind.served else None
    return None if snapshots is None else snapshots.in_place_of(tables)


def tables_of(relation: Relation) -> Iterator[str]:
    """The tables that a relation reads."""
    if isinstance(relation, Scan):
        yield relation.table
    elif isinstance(relation, Filtered | Projected | PerUnit):
        yield from tables_of(relation.rows)
    elif isinstance(relation, Join):
        yield from tables_of(relation.left)
        yield from tables_of(relation.right)
    elif isinstance(relation, Union):
        for part in relation.parts:
            yield from tables_of(part)


def _declared(catalog: Catalog, name: str) -> Table:
    table = catalog.table(name)
    if table is None:
        raise InvalidParameter("table", name, "one that the catalog declares")
    return table


def place_of(table: Table) -> tuple[str, str | None]:
    """What two tables have in common if one engine answers about both."""
    return table.source.engine, engine_kind(table.source.engine).reach(table.source)


def _names(part: Any) -> Iterator[str]:
    """The names of all columns that are mentioned anywhere."""
    if isinstance(part, Column):
        yield part.name
    elif is_dataclass(part):
        for each in fields(part):
            yield from _names(getattr(part, each.name))
    elif isinstance(part, tuple):
        for one in part:
            yield from _names(one)


def _quietly(action: Callable[[], _T]) -> _T:
    """What the action gives; what goes wrong below is never passed on, not even as a context."""
    try:
        return action()
    except SchemaChanged:
        raise
    except QuaestorError as error:
        refusal: QuaestorError = error
    except Exception:  # noqa: BLE001 (whatever an engine says may be about somebody)
        refusal = EngineFailed()
    refusal.__context__ = None
    raise refusal


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
        copies = _copies(self.catalog, declared) if same else None
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
