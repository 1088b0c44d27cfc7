"""What the data owner declares: tables, their units and public facts, and where they live."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from importlib import import_module
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Final

from quaestor.curator.catalog.default_steps import default_granularity, fine_granularity
from quaestor.curator.catalog.outer_limits import TIMES, farther, outer_bounds
from quaestor.curator.language.query import Contribution
from quaestor.errors import InvalidParameter, MissingAddress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.membership.facts import Fact
    from quaestor.curator.catalog.identity_provider import ProviderPlan
    from quaestor.curator.catalog.sources import EngineKind
    from quaestor.curator.language.expressions import Kind, Value

__all__ = [
    "ENDINGS",
    "ENGINES",
    "TEXT_KINDS",
    "AccountPlan",
    "Catalog",
    "ColumnFacts",
    "DashboardQuery",
    "Source",
    "Table",
    "TextFormat",
    "TunedLimits",
    "address_in",
    "engine_kind",
    "file_kind",
    "outer_times",
]


ENGINES = {
    "duckdb": "quaestor.curator.engines.duckdb",
    "postgres": "quaestor.curator.engines.postgres",
    "spark": "quaestor.curator.engines.spark",
}
"""Every engine, and the module whose ``ENGINE`` is its ``EngineKind``.

Where a table has keys of several engines, the last of them is meant: files are DuckDB's, unless
another key says that Spark reads them.
"""


def engine_kind(name: str) -> EngineKind:
    """The engine of that name."""
    if name not in ENGINES:
        raise InvalidParameter("engine", name, f"one of {', '.join(ENGINES)}")
    kind: EngineKind = import_module(ENGINES[name]).ENGINE
    return kind


ENDINGS: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".ndjson": "jsonl",
    ".ndjson.gz": "jsonl",
}
TEXT_KINDS: Final = frozenset({"csv", "tsv", "jsonl"})
"""Those whose values are texts where they live."""


def file_kind(files: str) -> str | None:
    """What the ending of a file's name says: parquet, csv, tsv, jsonl; None for others.

    >>> file_kind("visits/*.csv.gz"), file_kind("visits.xlsx")
    ('csv', None)
    """
    name = files.lower()
    return next((kind for ending, kind in ENDINGS.items() if name.endswith(ending)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """What is publicly known of a column. Nothing here is looked up in the data.

    A number column has all of ``low``, ``high`` and ``granularity``, or none of them; the bounds
    are whole multiples of the granularity, at most 2**24 of it from zero. ``None`` among the keys
    stands for rows without a value.
    """

    name: str
    kind: Kind
    low: float | None = None
    high: float | None = None
    granularity: float | None = None
    keys: tuple[Value, ...] | None = None
    outer_low: float | None = None
    """Where values are promised not to be below; None: as :func:`outer_bounds` says."""
    outer_high: float | None = None

    @property
    def fine_granularity(self) -> float | None:
        """The steps in which values that are only added up are read, where nobody declared one.

        None where they are those of the granularity: of whole numbers, of declared steps, and of
        columns with keys, which values are to be equal to. A granularity that is the one that is
        chosen by itself counts as if nobody had declared it.
        """
        if self.kind != "real" or self.keys is not None or self.granularity is None:
            return None
        if self.low is None or self.high is None:
            return None
        if self.granularity != default_granularity(self.low, self.high):
            return None
        fine = fine_granularity(self.granularity)
        return fine if fine < self.granularity else None

    @property
    def outer(self) -> ColumnFacts:
        """The same column under its outer bounds: those within which the whole error holds."""
        if self.low is None or self.high is None:
            return self
        low, high = outer_bounds(self.low, self.high, self.granularity)
        return replace(
            self,
            low=low if self.outer_low is None else self.outer_low,
            high=high if self.outer_high is None else self.outer_high,
        )

    @property
    def beyond(self) -> ColumnFacts:
        """The same column with bounds beyond the outer ones, so that it is seen who passes them."""
        outer = self.outer
        if outer.low is None or outer.high is None:
            return self
        most = farther(max(abs(outer.low), abs(outer.high)), self.granularity)
        return replace(self, low=-most, high=most)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """How values are written in a text file. It is declared, and never guessed from rows."""

    separator: str | None = None
    """What stands between fields. None: a comma, or a tabulator in .tsv files."""
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str | None = None
    date_format: str = "%Y-%m-%d"
    null: tuple[str, ...] = ()
    """Texts that mean that there is no value, beside the empty field."""
    header: bool = True
    names: tuple[str, ...] = ()
    """The columns in the order of the file, where its first line does not name them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a table lives: an engine, how to reach it, and the table or files there.

    What ``connection`` is depends on the engine: a DuckDB file, the *name* of an environment
    variable that holds the address of a PostgreSQL server, a Spark master. Files are named as in
    the catalog: relative ones are in the catalog's folder. ``format`` is for text files alone.
    """

    engine: str
    connection: str | None = None
    table: str | None = None
    files: str | None = None
    format: TextFormat = TextFormat()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableBlocks:
    """How the rows of a table are divided by time: a column with a date, and a length."""

    date: str
    every: str
    """``month``, ``quarter`` or ``year``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedLimits:
    """Limits of a table that were chosen privately, and the charge that paid for them."""

    account: str
    receipt: int
    limits: tuple[str, ...]
    """Names of columns, ``rows`` and ``groups``."""


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
    total_rows: int | None = None
    """How many rows of one unit count at all. None: rows times groups, where tables are joined."""
    blocks: TableBlocks | None = None
    """How its rows are divided by time, for accounts with a budget for each block."""
    tuned: tuple[TunedLimits, ...] = ()
    """Which of its limits were chosen privately, from the data, and what paid for that."""
    outer_rows: int | None = None
    """Outer limits, within which the whole error holds. None: ten times the inner ones."""
    outer_groups: int | None = None
    outer_total_rows: int | None = None

    @property
    def caps(self) -> Contribution:
        """How much of one unit counts."""
        return self.contribution or Contribution(rows=1, groups=1)

    @property
    def outer_caps(self) -> Contribution:
        """How much of one unit the whole error covers."""
        caps = self.caps
        return Contribution(
            rows=self.outer_rows or TIMES * caps.rows,
            groups=self.outer_groups or TIMES * caps.groups,
        )

    def total_cap(self, *, times: float | None = None) -> int:
        """How many rows of one unit are kept where its rows are capped at all.

        With ``times`` under outer limits: so many times as many, if nothing is declared.
        """
        inner = self.total_rows or self.caps.rows * self.caps.groups
        if times is None:
            return inner
        return self.outer_total_rows or max(inner, int(times * inner))

    @property
    def private(self) -> bool:
        """Whether its rows are about people."""
        return self.unit is not None

    def column(self, name: str) -> ColumnFacts | None:
        """The facts about a column, if it is declared."""
        return next((column for column in self.columns if column.name == name), None)


def outer_times(joined: Sequence[Table], *, most: int) -> float:
    """How many times the rows that count are kept under outer limits, where tables are joined.

    Ten times of each table, unless the joins could then make more than ``most`` rows of one unit.
    """
    open_ended = sum(table.outer_total_rows is None for table in joined)
    made = prod(table.outer_total_rows or table.total_cap() for table in joined)
    if not open_ended:
        return 1.0
    each = float((most / made) ** (1 / open_ended)) * (1 - 1e-9)
    return max(1.0, min(float(TIMES), each))


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardQuery:
    """A query of a dashboard, and what its answer may cost: an epsilon, or a rho."""

    sql: str
    epsilon: float | None = None
    rho: float | None = None
    delta: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPlan:
    """For the policy ``blocks``: how time is divided, and how many blocks a person is in."""

    every: str
    first: str
    most: int | None = None
    enforced: bool = False
    predecessor: str = ""
    """A closed account whose whole past is charged to every block there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPlan:
    """An account as the catalog describes it; the ledger keeps what became of it.

    ``expected`` are release expressions, for the policy ``open``; ``plan`` are release expressions
    by dataset, for ``planned``; ``queries`` are for ``dashboard``. ``shares`` are the quotas:
    each is an analyst, an epsilon and a delta; the analyst ``*`` is everybody who is not named.
    ``beside`` says that another account pays for the same people, and that their losses add up.
    ``blocks`` is for the policy of that name.
    ``closes`` is when it closes by itself, in UTC; ``succeeds`` names the closed account that it
    follows on. ``groups`` are quotas of groups: a name, its members, an epsilon and a delta.
    ``approval`` says that charges need approval: all, or those above an epsilon.
    """

    name: str
    epsilon: float
    delta: float
    datasets: tuple[str, ...]
    policy: str = "open"
    expected: tuple[str, ...] = ()
    shares: tuple[tuple[str, float, float], ...] = ()
    plan: tuple[tuple[str, tuple[str, ...]], ...] = ()
    queries: tuple[DashboardQuery, ...] = ()
    beside: bool = False
    blocks: BlockPlan | None = None
    closes: str | None = None
    succeeds: str | None = None
    groups: tuple[tuple[str, tuple[str, ...], float, float], ...] = ()
    approval: bool | float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Everything that ``quaestor.toml`` says."""

    tables: tuple[Table, ...]
    ledger: str
    """A file, in the catalog's folder unless absolute; empty if there is a variable instead."""
    accounts: tuple[AccountPlan, ...] = ()
    membership: Fact | None = None
    neighbours: str = "add_remove"
    folder: str = field(default=".", compare=False)
    ledger_environment: str | None = None
    """The environment variable that holds the address of a PostgreSQL ledger."""
    provider: ProviderPlan | None = None
    """The identity provider by which people may sign in to a service."""

    def table(self, name: str) -> Table | None:
        """A table by its name, whatever its case."""
        return next((t for t in self.tables if t.name.lower() == name.lower()), None)

    def account(self, name: str) -> AccountPlan | None:
        """An account by its name."""
        return next((account for account in self.accounts if account.name == name), None)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets of the private tables, each once, in the order of the file."""
        return tuple(dict.fromkeys(t.dataset for t in self.tables if t.dataset is not None))

    def ledger_address(self) -> str:
        """Where the ledger is: the path of a file, or the address that the environment holds."""
        if self.ledger_environment is not None:
            return address_in(self.ledger_environment)
        return str(Path(self.folder) / self.ledger)


def address_in(environment: str) -> str:
    """The address that an environment variable holds; it is never shown.

    Raises:
        MissingAddress: the variable is not set.
    """
    address = os.environ.get(environment, "")
    if not address:
        raise MissingAddress(environment)
    return address
