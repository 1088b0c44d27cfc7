"""What happened, in order: events that are only ever appended, each chained to the one before."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from quaestor.accounting.releases.codec import release_from_dict
from quaestor.ledger import stored_text as texts

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = [
    "CHARGES",
    "COLUMNS",
    "GENESIS",
    "KINDS",
    "SETTLEMENTS",
    "Event",
    "event_hash",
    "opened_by",
    "releases_from_text",
    "releases_to_text",
]

GENESIS = "0" * 64
"""What stands for the hash before the first event of an account."""

CHARGES = ("reserved", "imported")
SETTLEMENTS = ("released", "void")
KINDS = ("opened", *CHARGES, *SETTLEMENTS, "closed", "clock", "restored", "drawing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of one account. Nothing in it is ever changed."""

    account: str
    seq: int
    """Its place in the account's chain, from 1."""
    kind: str
    """``opened``, ``reserved``, ``released``, ``void``, ``imported``, ``closed``, ``clock`` (a time
    before that of the event before was accepted), ``restored`` (from a backup) or ``drawing``
    (from here on the charge's noise may have been drawn)."""
    entry: int
    """The number of the charge that it is about; 0 if it is about none."""
    time: str
    """In UTC, never before the event before, unless that was of a clock that went wrong."""
    analyst: str
    dataset: str
    purpose: str
    query: str
    """The fingerprint of the question, if it has one."""
    releases: str
    """What is released, as JSON: descriptions, not numbers."""
    detail: str
    """The account's definition when it opens; of an imported history the importer's statement of
    what was fixed before it began, if there is one; otherwise the reason for what happened."""
    answer: str
    """The SHA-256 of the stored answer, if one was stored."""
    previous: str
    """The hash of the event before."""
    hash: str = ""
    """The SHA-256 of all of the above."""

    def to_dict(self) -> dict[str, Any]:
        """Its columns, in their order."""
        return asdict(self)


def opened_by(pricing: int) -> str:
    """The purpose of an account's first event: the version of prices that it was opened under.

    What was charged under older ones may turn out to have been too much. Before version 2 the
    purpose was empty.
    """
    return f"pricing {pricing}"


COLUMNS = tuple(Event.__dataclass_fields__)


def event_hash(columns: dict[str, Any]) -> str:
    """The hash of an event: of the canonical JSON of every column but the hash itself."""
    return texts.digest(texts.canonical({k: v for k, v in columns.items() if k != "hash"}))


@lru_cache(maxsize=4096)
def releases_to_text(releases: tuple[Release, ...]) -> str:
    """Releases as the JSON text that an event keeps."""
    return texts.canonical([release.to_dict() for release in releases])


def releases_from_text(text: str) -> tuple[Release, ...]:
    """Read back what :func:`releases_to_text` wrote."""
    return tuple(map(release_from_dict, json.loads(text)))
