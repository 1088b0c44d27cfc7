"""Heads that this process has seen: a store that does not contain them was rolled back."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Seen", "note", "seen"]


class Seen(NamedTuple):
    """A place in an account's chain, and the hash of the event there."""

    seq: int
    hash: str


_NOTHING = Seen(0, "")
_HEADS: dict[tuple[str, str], Seen] = {}


def seen(store_id: str, account: str) -> Seen:
    """The latest head of an account that this process has seen."""
    return _HEADS.get((store_id, account), _NOTHING)


def note(store_id: str, account: str, *, seq: int, head: str) -> None:
    """Remember a head, unless a later one is known."""
    if seq > seen(store_id, account).seq:
        _HEADS[store_id, account] = Seen(seq, head)
