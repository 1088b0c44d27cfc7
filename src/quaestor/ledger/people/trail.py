"""The audit trail: sign-ins, and changes of people, roles and tokens, as a chain of events."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from quaestor.errors import LedgerCorrupted
from quaestor.ledger import stored_text as texts
from quaestor.ledger.store import people_statements as sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.ledger.store.base import Session, Store

__all__ = ["TrailEvent", "append_to_trail", "read_trail", "verify_trail"]

_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailEvent:
    """One thing that somebody did: each has the hash of the one before.

    >>> event = TrailEvent(
    ...     seq=1, time="2026-01-01T00:00:00Z", kind="added", actor="owner", subject="ann",
    ...     detail="", previous="", hash="",
    ... )
    >>> event.actor, event.subject
    ('owner', 'ann')
    """

    seq: int
    time: str
    kind: str
    actor: str
    """Who did it; empty if that is not known, as with a failed sign-in."""
    subject: str
    """Whom, or what, it is about."""
    detail: str
    previous: str
    hash: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def append_to_trail(  # noqa: PLR0913  # what an event says
    session: Session, kind: str, *, time: str, actor: str, subject: str, detail: str = ""
) -> None:
    """Write one event at the end, within a transaction that has the lock of all accounts."""
    seq, previous = session.row(sql.TRAIL_END) or (0, "")
    said = {"kind": kind, "actor": actor, "subject": subject, "detail": detail}
    event = {"seq": int(seq) + 1, "time": time, **said, "previous": str(previous)}
    session.run(sql.ADD_TRAIL, **event, hash=texts.digest(texts.canonical(event)))


def read_trail(store: Store, *, after: int = 0, most: int | None = None) -> Iterator[TrailEvent]:
    """The events in their order, from the one after number ``after``; at most so many."""
    left = most
    while left is None or left > 0:
        page = _PAGE if left is None else min(_PAGE, left)
        with store.reading() as session:
            rows = session.rows(sql.TRAIL, after=after, page=page)
        for row in rows:
            yield TrailEvent(**dict(zip(TrailEvent.__dataclass_fields__, row, strict=True)))
        if len(rows) < page:
            return
        after, left = rows[-1][0], None if left is None else left - page


def verify_trail(store: Store) -> int:
    """See that nothing in the trail was changed, taken out or put in between; how long it is.

    What was cut off its end cannot be seen from here: note the last hash elsewhere.

    Raises:
        LedgerCorrupted: it does not hold together.
    """
    previous, count = "", 0
    for event in read_trail(store):
        count += 1
        said = {name: value for name, value in asdict(event).items() if name != "hash"}
        right = event.seq == count and event.previous == previous
        if not right or event.hash != texts.digest(texts.canonical(said)):
            raise LedgerCorrupted(f"event {count} of the audit trail", "it was changed")
        previous = event.hash
    return count
