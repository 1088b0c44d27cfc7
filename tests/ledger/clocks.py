"""A store's clock that tests can set forward: both stores, readers and writers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.ledger import stored_text as texts
from quaestor.ledger.store.postgres import PostgresSession
from quaestor.ledger.store.sqlite import SQLiteSession

if TYPE_CHECKING:
    import pytest

    from quaestor.ledger.store.base import Locked, Session


class Clock:
    """The store's own clock, so many seconds ahead."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand between the ledger and the clocks of both stores."""
        self.ahead = 0.0
        for kind in (SQLiteSession, PostgresSession):
            self._replace(monkeypatch, kind)

    def _replace(self, monkeypatch: pytest.MonkeyPatch, kind: type[Session]) -> None:
        locked, now = kind.locked, kind.now

        def later_locked(session: Session, account: str, *, seen: int) -> Locked:
            found = locked(session, account, seen=seen)
            # where there is no row, the time is that of now(), which is ahead already
            done = found.state is None and kind is PostgresSession
            return found if done else found._replace(time=self._moved(found.time))

        monkeypatch.setattr(kind, "locked", later_locked)
        monkeypatch.setattr(kind, "now", lambda session: self._moved(now(session)))

    def _moved(self, time: str) -> str:
        return texts.later(time, seconds=self.ahead)

    def after(self, seconds: float) -> str:
        """A time so much after the present one, by this computer's clock."""
        return texts.later(texts.now(), seconds=seconds)
