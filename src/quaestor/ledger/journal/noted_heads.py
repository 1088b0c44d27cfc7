"""Heads of accounts in a file: ``ACCOUNT=HASH``, a line each, as they were noted over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_head", "read_heads"]


def is_head(text: str) -> bool:
    """Whether this is a hash as the ledger prints it."""
    return len(text) == 64 and set(text.lower()) <= set("0123456789abcdef")


def read_heads(file: Path) -> dict[str, list[str]]:
    """All heads of a file, by account; the same account may be there many times."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InvalidParameter("--heads", str(file), "a file that can be read") from None
    heads: dict[str, list[str]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name, _, digest = line.strip().rpartition("=")
        if not name or not is_head(digest):
            valid = "lines of ACCOUNT=HASH, as quaestor ledger heads prints them"
            raise InvalidParameter(f"--heads, line {number}", line, valid)
        heads.setdefault(name, []).append(digest.lower())
    return heads
