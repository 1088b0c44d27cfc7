"""What happened, in order: events that are only ever appended, each chained to the one before."""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii as quoted
from typing import NamedTuple

from quaestor.ledger import stored_text as texts

__all__ = [
    "CHARGES",
    "COLUMNS",
    "DECISIONS",
    "GENESIS",
    "KINDS",
    "SETTLEMENTS",
    "Event",
    "event_from_text",
    "event_to_text",
    "opened_by",
    "opened_under",
]

GENESIS = "0" * 64
"""What stands for the hash before the first event of an account."""

CHARGES = ("reserved", "imported")
SETTLEMENTS = ("released", "void")
DECISIONS = ("submitted", "approved", "declined")
KINDS = (
    "opened",
    *CHARGES,
    *SETTLEMENTS,
    "closed",
    "clock",
    "restored",
    "drawing",
    "declared",
    "refreshed",
    *DECISIONS,
)


class Event(NamedTuple):
    """One event of one account. Nothing in it is ever changed; its fields are its columns.

    >>> first = Event("trial", 1, "opened", time="2026-01-01T00:00:00.000000Z").sealed()
    >>> event_from_text(event_to_text(first)) == first
    True
    """

    account: str
    seq: int
    """Its place in the account's chain, from 1."""
    kind: str
    """``opened``, ``reserved``, ``released``, ``void``, ``imported``, ``closed``, ``clock`` (a time
    before that of the event before was accepted), ``restored`` (from a backup), ``drawing`` (from
    here on the charge's noise may have been drawn), ``declared`` (what a dataset is, from here on:
    see :mod:`quaestor.ledger.journal.declarations`), ``refreshed`` (a dataset has other rows from
    here on), or ``submitted``, ``approved``, ``declined`` (what somebody would like to ask, and
    what somebody else has decided about it)."""
    entry: int = 0
    """The number of the charge that it is about; 0 if it is about none."""
    time: str = ""
    """In UTC, never before the event before, unless that was of a clock that went wrong."""
    analyst: str = ""
    dataset: str = ""
    purpose: str = ""
    query: str = ""
    """The fingerprint of the question, if it has one."""
    releases: str = "[]"
    """What is released, as JSON: descriptions, not numbers."""
    detail: str = ""
    """The account's definition when it opens; of an imported history the importer's statement of
    what was fixed before it began, if there is one; of a charge to blocks of time, those, each
    after a tab; digests of what is declared; the label of a version of the data; of a decision,
    and of a charge that needed one, the first digits of the submission's hash; otherwise the
    reason for what happened."""
    answer: str = ""
    """The SHA-256 of the stored answer, if one was stored; of a charge, who may see its answer, if
    that is not as always."""
    previous: str = GENESIS
    """The hash of the event before."""
    hash: str = ""
    """The SHA-256 of all of the above."""

    def content(self) -> str:
        """What its hash is made of: the canonical JSON of every other column.

        Raises:
            TypeError, ValueError: something in it is no text and no number.
        """
        columns = self._asdict()
        del columns["hash"]
        return texts.canonical(columns)

    def sealed(self) -> Event:
        """The same with its hash, by a quicker way to the same content."""
        return Event(*self[:-1], hash=texts.digest(_quick_content(self)))

    @property
    def is_sealed(self) -> bool:
        """Whether its hash is that of its content."""
        return texts.digest(self.content()) == self.hash

    @property
    def realised(self) -> bool:
        """Whether it imports a history of which nobody states what was fixed before it began."""
        return self.kind == "imported" and texts.parts_of(self.detail)[0] == ""

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks of time that a charge is to, if there are any."""
        return texts.parts_of(self.detail)[1] if self.kind in CHARGES else ()


COLUMNS = Event._fields


def _quick_content(event: Event) -> str:
    """The same as ``content``, by which it is verified: of texts and whole numbers only."""
    e = event
    return (
        f'{{"account":{quoted(e.account)},"analyst":{quoted(e.analyst)},'
        f'"answer":{quoted(e.answer)},"dataset":{quoted(e.dataset)},"detail":{quoted(e.detail)},'
        f'"entry":{e.entry:d},"kind":{quoted(e.kind)},"previous":{quoted(e.previous)},'
        f'"purpose":{quoted(e.purpose)},"query":{quoted(e.query)},"releases":{quoted(e.releases)},'
        f'"seq":{e.seq:d},"time":{quoted(e.time)}}}'
    )


def event_to_text(event: Event) -> str:
    """The event as a line of canonical JSON; without its hash it is what that was made of."""
    return texts.canonical(event._asdict())


def event_from_text(text: str) -> Event:
    """Read back what :func:`event_to_text` wrote."""
    return Event(**json.loads(text))


def opened_by(pricing: int) -> str:
    """The purpose of an account's first event: the version of prices that it was opened under.

    What was charged under older ones may turn out to have been too much. Before version 2 the
    purpose was empty.
    """
    return f"pricing {pricing}"


def opened_under(purpose: str) -> int:
    """The version of prices that the purpose of an account's first event names; 1 if none.

    >>> opened_under(opened_by(3)), opened_under("")
    (3, 1)
    """
    number = purpose.removeprefix("pricing ")
    return int(number) if number.isascii() and number.isdigit() else 1
