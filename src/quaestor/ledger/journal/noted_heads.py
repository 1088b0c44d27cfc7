"""Heads of accounts that were noted elsewhere, in a file or on a command line: ``ACCOUNT=HASH``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter, LedgerCorrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

__all__ = ["heads_of", "read_heads"]


def _is_head(text: str) -> bool:
    """Whether this is a hash as the ledger prints it."""
    return len(text) == 64 and set(text.lower()) <= set("0123456789abcdef")


def read_heads(file: Path) -> dict[str, list[str]]:
    """All heads of a file, by account; the same account may be there many times."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InvalidParameter(
            "--heads",
            str(file),
            "a file that can be read, as  quaestor ledger heads > FILE  writes it",
        ) from None
    heads: dict[str, list[str]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name, _, digest = line.strip().rpartition("=")
        if not name or not _is_head(digest):
            valid = "lines of ACCOUNT=HASH, as quaestor ledger heads prints them"
            raise InvalidParameter(f"--heads, line {number}", line, valid)
        heads.setdefault(name, []).append(digest.lower())
    return heads


def heads_of(given: Iterable[str], accounts: Callable[[], Sequence[str]]) -> dict[str, str]:
    """Heads that were given one by one; of the one account there is, its name may be left out."""
    heads: dict[str, str] = {}
    for text in given:
        name, equals, digest = text.rpartition("=")
        if not _is_head(digest):
            valid = '64 hexadecimal digits, as "quaestor ledger verify" prints them'
            raise InvalidParameter("--head", text, f"{valid}, or ACCOUNT= and those")
        if not equals:
            names = accounts()
            if not names:
                place = "the ledger"
                raise LedgerCorrupted(place, "a head was recorded, but there is no account")
            if len(names) > 1:
                valid = "ACCOUNT=HASH, because the ledger has several accounts"
                raise InvalidParameter("--head", text, valid)
            name = names[0]
        if name in heads:
            raise InvalidParameter("--head", text, "given once for each account")
        heads[name] = digest.lower()
    return heads
