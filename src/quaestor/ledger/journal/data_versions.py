"""Versions of the data: a refresh is recorded with every account on the dataset, and a label."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from quaestor.errors import InvalidParameter
from quaestor.ledger import stored_text as texts
from quaestor.ledger.journal.appender import Journal, write_alone
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.ledger.store.base import Session, Store

__all__ = ["DataVersion", "refresh", "version_between"]


class DataVersion(NamedTuple):
    """From its time on, a dataset has the rows that its owner calls by this label.

    >>> DataVersion("visits", "2026-02", "2026-02-01T00:00:00Z", 7).label
    '2026-02'
    """

    dataset: str
    label: str
    time: str
    seq: int
    """The event's place in the account's chain."""


def version_between(versions: Sequence[DataVersion], charged: int, settled: int | None) -> str:
    """The version that was read between two places of the chain; empty if there was no label yet.

    Of an answer that was on its way when the data were refreshed, nobody knows which it is.
    """
    first = _last_before(versions, charged)
    last = _last_before(versions, settled)
    return first if first == last else f"{first or 'an earlier one'} or {last}"


def _last_before(versions: Sequence[DataVersion], place: int | None) -> str:
    before = [each.label for each in versions if place is None or each.seq < place]
    return before[-1] if before else ""


def refresh(store: Store, accounts: Sequence[str], dataset: str, version: str) -> None:
    """Record a version in the chains of these accounts: in all of them, or in none."""
    label = texts.name("version", version)

    def work(session: Session) -> list[Journal]:
        session.lock_accounts()
        journals = []
        for account in accounts:
            journal = Journal(store, session, account)
            known = session.rows(sql.VERSIONS, account=account)
            if any((each[0], each[1]) == (dataset, label) for each in known):
                raise InvalidParameter("version", label, f"a label not used before of {dataset}")
            journal.append("refreshed", dataset=dataset, detail=label)
            journal.finish()
            journals.append(journal)
        return journals

    for journal in write_alone(store, work):
        journal.committed()
