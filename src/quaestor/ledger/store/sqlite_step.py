"""A charge as a single statement of SQLite: checked, appended and durable when it returns.

Python runs signal handlers between its own instructions, never within a call of the driver. So an
interrupt cannot come between the parts of this, no lock is ever left behind by it, and no thread of
its own has to do it. The statement inserts into a view of this connection, whose trigger does the
rest; without BEGIN it is a transaction by itself, under the same lock as any other.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quaestor.ledger.store.base import Row

__all__ = ["append_in_one_step", "prepare_step"]

_VIEW = """
CREATE TEMP VIEW next_charge AS
SELECT NULL AS account, NULL AS seq, NULL AS kind, NULL AS entry, NULL AS time, NULL AS analyst,
NULL AS dataset, NULL AS purpose, NULL AS query, NULL AS releases, NULL AS detail, NULL AS answer,
NULL AS previous, NULL AS hash, NULL AS pricing, NULL AS place, NULL AS holder, NULL AS totals
"""

# The chain ends where the charge expects, by the account's row and by the last event itself.
_TRIGGER = """
CREATE TEMP TRIGGER append_charge INSTEAD OF INSERT ON next_charge
WHEN NEW.previous = (
SELECT head FROM ledger_heads WHERE account = NEW.account AND events = NEW.seq - 1
AND entries = NEW.entry - 1 AND time <= NEW.time AND closed = 0 AND pricing = NEW.pricing)
AND NEW.previous = (
SELECT hash FROM ledger_events WHERE account = NEW.account AND seq = NEW.seq - 1)
BEGIN
INSERT INTO ledger_events (account, seq, kind, entry, time, analyst, dataset, purpose, query,
releases, detail, answer, previous, hash)
VALUES (NEW.account, NEW.seq, NEW.kind, NEW.entry, NEW.time, NEW.analyst, NEW.dataset, NEW.purpose,
NEW.query, NEW.releases, NEW.detail, NEW.answer, NEW.previous, NEW.hash);
INSERT INTO ledger_balances (account, dataset, analyst, totals)
VALUES (NEW.account, NEW.place, NEW.holder, NEW.totals)
ON CONFLICT (account, dataset, analyst) DO UPDATE SET totals = excluded.totals;
UPDATE ledger_heads SET events = NEW.seq, entries = NEW.entry, time = NEW.time, head = NEW.hash
WHERE account = NEW.account;
END
"""

_APPEND = "INSERT INTO next_charge VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def prepare_step(connection: sqlite3.Connection) -> None:
    """Make the view, which only this connection has."""
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(_VIEW)
    connection.execute(_TRIGGER)


def append_in_one_step(connection: sqlite3.Connection, charge: Row) -> bool:
    """Append a charge if nobody else is writing, and the chain ends where it expects."""
    before = connection.total_changes
    try:
        connection.execute(_APPEND, charge)
    except sqlite3.OperationalError as problem:
        if problem.sqlite_errorname.startswith("SQLITE_BUSY"):
            return False
        raise
    return connection.total_changes != before
