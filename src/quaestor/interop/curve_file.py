"""A privacy curve that somebody computed, read from a CSV file."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from quaestor.accounting.releases import PrivacyProfile, RenyiDP
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.accounting.releases import Release

__all__ = ["read_curve"]

_LARGEST = 1 << 20  # characters


def read_curve(path: Path) -> Release:
    """The release that a file of points is known by.

    The first line names the columns: ``epsilon,delta`` for points of a privacy profile, each of
    which is true of the release, or ``order,epsilon`` for Renyi divergences.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise InvalidParameter("file", str(path), f"a file ({problem.strerror})") from None
    except UnicodeDecodeError:
        raise InvalidParameter("file", str(path), "a text in UTF-8") from None
    if len(text) > _LARGEST:
        raise InvalidParameter("file", str(path), f"at most {_LARGEST} characters long")
    rows = [row for row in csv.reader(text.splitlines()) if row]
    header = ",".join(name.strip().lower() for name in rows[0]) if rows else ""
    if header not in ("epsilon,delta", "order,epsilon"):
        valid = 'columns with the header "epsilon,delta" or "order,epsilon"'
        raise InvalidParameter("file", str(path), valid)
    try:
        columns = [tuple(float(row[place]) for row in rows[1:]) for place in (0, 1)]
    except (ValueError, IndexError):
        raise InvalidParameter("file", str(path), "two numbers in every line") from None
    if header == "order,epsilon":
        return RenyiDP(orders=columns[0], epsilons=columns[1])
    return PrivacyProfile(epsilons=columns[0], deltas=columns[1])
