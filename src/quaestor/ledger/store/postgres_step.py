"""A charge as a single statement of PostgreSQL: checked, appended and durable when it returns.

It travels in one message, and is a transaction by itself: whatever happens to whoever has sent it,
the server brings it to its end and holds no lock afterwards.
"""

from __future__ import annotations

import datetime as dt
import select
import time
from typing import TYPE_CHECKING

from quaestor.ledger.store.postgres_wire import exchange

if TYPE_CHECKING:
    from quaestor.ledger.store.base import Row
    from quaestor.ledger.store.postgres_wire import BoundedConnection

__all__ = ["ServerClock", "append_in_one_step", "is_silent"]

# The chain ends where the charge expects, by the account's row and by the last event itself; it is
# the same ledger; and the event's time is the server's, which is worked out before it is asked.
_APPEND = """
WITH moved AS (
UPDATE ledger_heads SET events = :seq, entries = :entry, time = :time, head = :hash
WHERE account = :account AND head = :previous AND events = CAST(:seq AS BIGINT) - 1
AND entries = CAST(:entry AS BIGINT) - 1 AND time <= :time AND closed = 0 AND pricing = :pricing
AND EXISTS (SELECT 1 FROM ledger_identity WHERE id = :ledger)
AND EXISTS (SELECT 1 FROM ledger_events
WHERE account = :account AND seq = CAST(:seq AS BIGINT) - 1 AND hash = :previous)
AND ABS(EXTRACT(EPOCH FROM clock_timestamp() - CAST(:time AS TIMESTAMPTZ))) < 1
RETURNING account),
added AS (
INSERT INTO ledger_events (account, seq, kind, entry, time, analyst, dataset, purpose, query,
releases, detail, answer, previous, hash)
SELECT account, CAST(:seq AS BIGINT), :kind, CAST(:entry AS BIGINT), :time, :analyst, :dataset,
:purpose, :query, :releases, :detail, :answer, :previous, :hash FROM moved),
kept AS (
INSERT INTO ledger_balances (account, dataset, analyst, totals)
SELECT account, :place, :holder, :totals FROM moved
ON CONFLICT (account, dataset, analyst) DO UPDATE SET totals = excluded.totals)
SELECT account FROM moved
"""
_HOT = {_APPEND: "ledger_step"}
_NAMES = (
    *("account", "seq", "kind", "entry", "time", "analyst", "dataset", "purpose", "query"),
    *("releases", "detail", "answer", "previous", "hash"),
    *("pricing", "place", "holder", "totals"),
)


def append_in_one_step(connection: BoundedConnection, charge: Row, *, ledger: str) -> bool:
    """Append a charge if the chain of that ledger ends where it expects."""
    parameters = dict(zip(_NAMES, charge, strict=True), ledger=ledger)
    (result,) = exchange(connection, [(_APPEND, parameters)], hot=_HOT)
    return result.ntuples == 1


def is_silent(connection: BoundedConnection) -> bool:
    """Whether the server has said nothing since it was last asked: it has not gone away."""
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    return not poll.poll(0)


class ServerClock:
    """What the server's clock shows, by what it showed when it was last asked."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._shown: tuple[str, float] | None = None

    def saw(self, shown: str) -> None:
        """The server has just said how late it is."""
        self._shown = shown, time.monotonic()

    def now(self) -> str | None:
        """About how late it is, never later than the server's clock if both run alike."""
        if self._shown is None:
            return None
        shown, when = self._shown
        passed = dt.timedelta(seconds=time.monotonic() - when)
        return (dt.datetime.fromisoformat(shown) + passed).isoformat(timespec="microseconds")[
            :-6
        ] + "Z"
