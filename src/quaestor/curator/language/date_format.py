"""Formats of written dates, such as ``%d.%m.%Y``."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["date_parts"]

_PARTS: Final = {"%d": "day", "%m": "month", "%Y": "year", "%y": "short year"}
_TIME: Final = re.compile(r"[ T]%H:%M(:%S)?$")


def date_parts(date_format: str) -> list[str] | None:
    """The parts of a format, and what stands between them; None where it is no format.

    A time of the day may stand after the date: it is always read, where there is one.

    >>> date_parts("%d.%m.%Y"), date_parts("%d.%m.%Y %H:%M"), date_parts("%B")
    (['day', '.', 'month', '.', 'year'], ['day', '.', 'month', '.', 'year'], None)
    """
    pieces = re.split("(%.)", _TIME.sub("", date_format))
    named = [_PARTS.get(piece, piece) for piece in pieces if piece]
    kinds = sorted(part for part in named if part in _PARTS.values())
    if kinds not in (["day", "month", "year"], ["day", "month", "short year"]):
        return None
    others = [part for part in named if part not in _PARTS.values()]
    if any("%" in part or not part.isprintable() or re.search("[0-9]", part) for part in others):
        return None
    return named
