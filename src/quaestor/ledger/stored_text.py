"""Names, purposes and answers: texts that every store keeps as they are."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from quaestor.errors import InvalidParameter

__all__ = ["answer_text", "canonical", "digest", "is_digest", "line", "name", "query_digest"]

_LONGEST_NAME = 200
_LONGEST_LINE = 2000
_DIGITS = 64


def name(field: str, value: object) -> str:
    """A name: one short printable line, not empty, without blanks at its ends."""
    valid = f"a name of at most {_LONGEST_NAME} printable characters"
    if not isinstance(value, str) or not value or len(value) > _LONGEST_NAME:
        raise InvalidParameter(field, value, valid)
    if not value.isprintable() or value != value.strip() or value == "*":
        raise InvalidParameter(field, value, f"{valid}, other than *, without blanks around it")
    return value


def line(field: str, value: object) -> str:
    """A text of one line, which may be empty."""
    if not isinstance(value, str) or len(value) > _LONGEST_LINE or not value.isprintable():
        valid = f"one line of at most {_LONGEST_LINE} printable characters"
        raise InvalidParameter(field, value, valid)
    return value


def answer_text(value: object) -> str:
    """A text of any length, of characters that every store keeps."""
    valid = "a text without NUL and without halves of characters"
    if not isinstance(value, str) or "\0" in value:
        raise InvalidParameter("answer", type(value).__name__, valid)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidParameter("answer", "a text with half a character", valid) from None
    return value


def canonical(value: Any) -> str:
    """JSON with one way to write each value: sorted, compact, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_digest(text: str) -> bool:
    """Whether a text can be what :func:`digest` gives."""
    return len(text) == _DIGITS and set(text) <= set("0123456789abcdef")


def query_digest(query: object) -> str:
    """What a dashboard knows a query by: the SHA-256 of the text of the query itself.

    >>> query_digest("SELECT COUNT(*) FROM visits")[:16]
    '5a66e3537363177b'
    """
    if not isinstance(query, str) or not query.strip():
        raise InvalidParameter("query_text", query, "the text of the query itself")
    try:
        return digest(query)
    except UnicodeEncodeError:
        valid = "a text without halves of characters"
        raise InvalidParameter("query_text", "a text with half a character", valid) from None
