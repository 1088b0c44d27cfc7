"""What the data owner declares: tables, their units and public facts, and where they live."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from quaestor.accounting.across.facts import Fact
    from quaestor.curator.expressions import Kind, Value
    from quaestor.curator.query import Contribution

__all__ = ["AccountPlan", "Catalog", "ColumnFacts", "Source", "Table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """What is publicly known of a column. Nothing here is looked up in the data."""

    name: str
    kind: Kind
    low: float | None = None
    high: float | None = None
    granularity: float | None = None
    keys: tuple[Value, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a table lives: an engine, how to reach it, and the table or files there.

    ``connection`` is a DuckDB file, the *name* of an environment variable that holds the address
    of a PostgreSQL server, or a Spark master (``local[2]``, ``spark://...``, ``sc://...``).
    """

    engine: Literal["duckdb", "postgres", "spark"]
    connection: str | None = None
    table: str | None = None
    files: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that analysts may ask about; without a ``unit`` it is public."""

    name: str
    source: Source
    columns: tuple[ColumnFacts, ...]
    unit: str | None = None
    contribution: Contribution | None = None
    dataset: str | None = None
    """The dataset whose account pays; tables of one dataset share their units."""

    @property
    def private(self) -> bool:
        """Whether its rows are about people."""
        return self.unit is not None

    def column(self, name: str) -> ColumnFacts | None:
        """The facts about a column, if it is declared."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPlan:
    """An account as the catalog describes it; the ledger keeps what became of it."""

    name: str
    epsilon: float
    delta: float
    datasets: tuple[str, ...]
    policy: str = "open"
    expected: tuple[str, ...] = ()
    shares: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Everything that ``quaestor.toml`` says."""

    tables: tuple[Table, ...]
    ledger: str
    accounts: tuple[AccountPlan, ...] = ()
    membership: Fact | None = None
    neighbours: str = "add_remove"
    folder: str = field(default=".", compare=False)

    def table(self, name: str) -> Table | None:
        """A table by its name, whatever its case."""
        return next((t for t in self.tables if t.name.lower() == name.lower()), None)
