"""From an address to a store whose tables are as they should be."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter, LedgerCorrupted, LedgerUnavailable, MissingExtra
from quaestor.ledger.store import statements as sql
from quaestor.ledger.store.driver_errors import unavailable

if TYPE_CHECKING:
    from sqlalchemy import URL

    from quaestor.ledger.store.base import Store

__all__ = ["REVISIONS", "make_file", "open_store", "place_of"]

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
"""All that there have been, oldest first; a store is brought to the last one."""

_VALID = 'a file, or an address such as "postgresql://user@host/database"'


def open_store(location: str | Path, *, create: bool, read_only: bool = False) -> Store:
    """The store at an address: made if it is new, brought up to date if it is old.

    An address is never repeated in an error: it may hold a password.
    """
    place = place_of(location)
    if not isinstance(place, Path):
        store = _postgres(place, read_only=read_only)
        return _ready(store, create=create, read_only=read_only)
    from quaestor.ledger.store.sqlite import SQLiteStore, made_alone

    if create and not read_only and not place.exists():
        with made_alone(place) as draft:
            if draft is not None:
                make_file(draft)
    opened = SQLiteStore(place, read_only=read_only)
    try:
        return _ready(opened, create=create, read_only=read_only)
    except LedgerUnavailable as problem:
        if problem.reason not in {"cannot_open", "read_only"} or not opened.try_without_log():
            raise
        return _ready(opened, create=False, read_only=read_only)


def make_file(draft: Path) -> None:
    """A new ledger in an empty file that nobody else knows of."""
    from quaestor.ledger.store.sqlite import SQLiteStore

    _ready(SQLiteStore(draft, draft=True), create=True, read_only=False).close()


def place_of(location: str | Path) -> Path | URL:
    """The file, or the server's address, that was meant."""
    if find_spec("sqlalchemy") is None:
        raise MissingExtra("sqlalchemy", extra="ledger", purpose="the ledger")
    if isinstance(location, Path) or (isinstance(location, str) and "://" not in location):
        if not str(location) or "\0" in str(location) or str(location) == ":memory:":
            raise InvalidParameter("ledger", location, _VALID)
        return Path(location).resolve()
    if not isinstance(location, str):
        raise InvalidParameter("ledger", type(location).__name__, _VALID)
    from sqlalchemy import exc, make_url

    scheme = location.partition("://")[0]
    try:
        url = make_url(location)
    except (exc.ArgumentError, ValueError):
        raise InvalidParameter("ledger", f"{scheme}://...", _VALID) from None
    if scheme.partition("+")[0] in {"postgresql", "postgres"}:
        return url
    if scheme == "sqlite" and url.database not in {None, "", ":memory:"}:
        return Path(str(url.database)).resolve()
    raise InvalidParameter("ledger", f"{scheme}://...", _VALID)


def _postgres(url: URL, *, read_only: bool) -> Store:
    try:
        import psycopg  # noqa: F401  # to say which extra brings it
    except ImportError:
        purpose = "a ledger in PostgreSQL"
        raise MissingExtra("psycopg", extra="postgres", purpose=purpose) from None
    from quaestor.ledger.store.postgres import PostgresStore

    return PostgresStore(url, read_only=read_only)


def _ready(store: Store, *, create: bool, read_only: bool) -> Store:
    """The store with its tables up to date, and its identity known."""
    try:
        _bring_up_to_date(store, create=create, read_only=read_only)
        store.recognise()
    except BaseException:
        store.close()
        raise
    return store


def _bring_up_to_date(store: Store, *, create: bool, read_only: bool) -> None:
    """One cheap query where nothing is to be done; otherwise one process does it for all."""
    found = _revision(store)
    if found == REVISIONS[-1]:
        return
    if found is None and not create:
        raise unavailable("absent")
    if read_only:
        raise unavailable("outdated")
    from quaestor.ledger.store.upgrade import upgrade

    with store.migrating() as connection:
        upgrade(connection)  # whoever had to wait finds it done, and this does nothing


def _revision(store: Store) -> str | None:
    found = store.first_row(sql.VERSION)
    if found is False:
        return None
    if not isinstance(found, tuple) or len(found) != 1:
        raise LedgerCorrupted("the table of versions", "it does not say which one this is")
    if found[0] not in REVISIONS:
        raise unavailable("newer")
    return str(found[0])
