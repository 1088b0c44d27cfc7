"""Copies of tables, for the data owner: made and deleted; of servers, as versions of the data."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import engine_kind
from quaestor.errors import InvalidParameter, LedgerUnavailable
from quaestor.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.curator.catalog.model import Catalog

__all__ = ["prepare_table", "remove_copy"]


def prepare_table(catalog: Catalog, name: str) -> tuple[str, ...]:
    r"""Copy a table for questions to read; the accounts with which a data version was recorded.

    Questions read a copy of files while the files are as they were. They read a copy of a server's
    table as of the time it was made, so that is recorded as a version of the data, with every
    account that pays for them; see :meth:`quaestor.ledger.Ledger.refreshed`.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from quaestor.curator.catalog import catalog_from_toml
    >>> text = '''
    ... [tables.visits]
    ... file = "visits.csv"
    ... unit = "patient"
    ... rows = 2
    ... groups = 1
    ... [tables.visits.columns]
    ... patient = { kind = "integer" }
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "visits.csv").write_text("patient\n2\n1\n")
    ...     prepare_table(catalog_from_toml(text, folder=folder), "visits")
    ()
    """
    table = catalog.table(name)
    kind = None if table is None else engine_kind(table.source.engine)
    snapshots: Any = None if kind is None else kind.snapshots(catalog)
    if table is None or kind is None or snapshots is None:
        raise InvalidParameter("name", name, "a table of files, of DuckDB or of PostgreSQL")
    if not kind.served:
        snapshots.prepare(name)
        return ()
    with _ledger_of(catalog) as ledger:  # before the copy is made, which takes its time
        note = snapshots.prepare(name)
        return _recorded(ledger, table.dataset or table.name, note.made)


def remove_copy(catalog: Catalog, name: str, snapshots: Any) -> tuple[str, ...]:
    """Delete the copy of a table; the accounts with which a data version was recorded.

    From then on questions read a server's table itself: those are other rows than the version that
    the copy was recorded as, so they are recorded as one of their own.
    """
    table = catalog.table(name)
    if table is None or not engine_kind(table.source.engine).served:
        snapshots.remove(name)
        return ()
    with _ledger_of(catalog) as ledger:
        if not snapshots.remove(name):
            return ()
        since = datetime.now(UTC).isoformat(timespec="milliseconds")
        return _recorded(ledger, table.dataset or table.name, f"on the server since {since}")


def _recorded(ledger: Ledger | None, dataset: str, version: str) -> tuple[str, ...]:
    """The accounts that pay for a dataset, if there are any: with them the version is recorded."""
    accounts = () if ledger is None else ledger.accounts()
    if ledger is None or not any(dataset in each.definition.datasets for each in accounts):
        return ()
    return ledger.refreshed(dataset, version=version)


@contextmanager
def _ledger_of(catalog: Catalog) -> Iterator[Ledger | None]:
    """The ledger that the catalog names; None if nobody has opened an account yet."""
    try:
        ledger = Ledger(catalog.ledger_address(), create=False)
    except LedgerUnavailable as problem:
        if problem.reason != "absent":
            raise
        yield None
        return
    with ledger:
        yield ledger
