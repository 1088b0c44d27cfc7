"""All rows of a ledger, taken from one store and put into another: backups, and their way back."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from quaestor.ledger.store import statements as sql
from quaestor.ledger.store.address import make_file
from quaestor.ledger.store.driver_errors import unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from quaestor.ledger.store.base import Session, Store

__all__ = ["TABLES", "back_up", "put_back"]

TABLES = {
    "ledger_accounts": (1, ("name", "definition")),
    "ledger_heads": (1, ("account", "events", "entries", "time", "head", "closed", "pricing")),
    "ledger_events": (
        2,
        (
            *("account", "seq", "kind", "entry", "time", "analyst", "dataset", "purpose", "query"),
            *("releases", "detail", "answer", "previous", "hash"),
        ),
    ),
    "ledger_balances": (3, ("account", "dataset", "analyst", "totals")),
    "ledger_answers": (2, ("account", "entry", "dataset", "query", "analyst", "answer")),
    "ledger_jobs": (
        2,
        ("account", "entry", "attempt", "token", "request", "question", "holder", "lease"),
    ),
    "ledger_people": (
        1,
        ("name", "folded", "roles", "groups", "password", "created", "ended"),
    ),
    "ledger_credentials": (
        1,
        ("digest", "id", "kind", "person", "scopes", "note", "created", "expires", "ended"),
    ),
    "ledger_trail": (
        1,
        ("seq", "time", "kind", "actor", "subject", "detail", "previous", "hash"),
    ),
    "ledger_questions": (
        1,
        (
            *("id", "analyst", "token", "request", "inquiry", "created", "account", "entry"),
            *("state", "problem", "answered", "repeated", "holder", "lease", "finished"),
        ),
    ),
}
"""Columns of every table with content, and how many of them, from the first, are its key."""

_PAGE = 2000


def back_up(store: Store, path: Path) -> None:
    """One state of the ledger, as a file that can be verified and takes no charges.

    Others go on charging meanwhile.
    """
    from quaestor.ledger.store.sqlite import SQLiteStore, made_alone

    if path.exists():
        raise unavailable("taken")
    with made_alone(path) as draft:
        if draft is None:
            raise unavailable("taken")
        make_file(draft)
        copy = SQLiteStore(draft)
        try:
            with store.reading() as source, copy.writing() as target:
                _copy(source, target)
                target.run(sql.SET_IDENTITY, id=store.identity.id, kind="backup")
            copy.fold()
        finally:
            copy.close()


def put_back(backup: Store, store: Store, finish: Callable[[Session], None]) -> None:
    """Fill an empty ledger with a backup, all at once; it is another ledger from then on.

    Processes that have the old one open notice that, and charge nothing.
    """
    from quaestor.ledger.store.base import Identity

    with backup.reading() as source, store.writing() as target:
        target.lock_accounts()
        if target.rows(sql.ACCOUNTS):
            raise unavailable("taken")
        _copy(source, target)
        found = Identity(secrets.token_hex(16), "ledger")
        target.run(sql.SET_IDENTITY, id=found.id, kind=found.kind)
        store.identity = found
        finish(target)


def _copy(source: Session, target: Session) -> None:
    for table, (key, columns) in TABLES.items():
        names, marks = ", ".join(columns), ", ".join(f":{name}" for name in columns)
        add = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608  # our own names
        order = ", ".join(columns[:key])
        page = f"SELECT {names} FROM {table} ORDER BY {order} LIMIT :page OFFSET :place"  # noqa: S608  # ours
        place = 0
        while rows := source.rows(page, page=_PAGE, place=place):
            for row in rows:
                target.run(add, **dict(zip(columns, row, strict=True)))
            target.rows(sql.IDENTITY)  # what has gathered is sent before it is too much
            place += len(rows)
