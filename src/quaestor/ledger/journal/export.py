"""The ledger as text: every event, in lines of JSON or as CSV, for other tools and for backups."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter
from quaestor.ledger.journal.events import COLUMNS, Event, event_to_text
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quaestor.ledger.store.base import Store

__all__ = ["FORMATS", "export_events"]

FORMATS = ("jsonl", "csv")
_PAGE = 1000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_events(store: Store, accounts: Sequence[str], *, form: str) -> Iterator[str]:
    """All events of these accounts, a line each, with its end.

    A line of JSON without its ``hash`` is, byte for byte, what the hash was made of: anybody can
    follow the chain without this library.
    """
    if form not in FORMATS:
        raise InvalidParameter("format", form, f"one of {', '.join(FORMATS)}")
    return _lines(store, accounts, form=form)


def _lines(store: Store, accounts: Sequence[str], *, form: str) -> Iterator[str]:
    if form == "csv":
        yield _csv(COLUMNS)
    for account in accounts:
        after = 0
        while True:
            with store.reading() as session:
                rows = session.rows(sql.EVENTS, account=account, after=after, page=_PAGE)
            for row in rows:
                if form == "csv":
                    yield _csv(row)
                else:
                    yield event_to_text(Event(*row)) + "\n"
            if len(rows) < _PAGE:
                break
            after = rows[-1][1]


def _csv(values: Sequence[object]) -> str:
    """One line. Spreadsheets compute texts that begin like a formula; an analyst may write those.

    They get an apostrophe in front; lines of JSON have every text as it is.
    """
    safe = [f"'{v}" if isinstance(v, str) and v.startswith(_FORMULA) else v for v in values]
    line = io.StringIO()
    csv.writer(line).writerow(safe)
    return line.getvalue()
