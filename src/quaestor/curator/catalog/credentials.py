"""Credentials belong into the environment: a catalog that holds some is refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.curator.catalog.lines import Place
    from quaestor.curator.catalog.sections import Section

__all__ = ["refuse_credentials"]

_WORDS = frozenset({"password", "passwd", "pwd", "secret", "token", "api_key", "credentials"})
_ADDRESS = re.compile(
    r"://[^/\s]*@"  # postgresql://user:password@host
    r"|^postgres(?:ql)?(?:\+\w+)?://"  # any address of a server may carry some one day
    r"|\b(?:password|passwd|pwd|token|secret)\s*=",  # as in host=... password=...
    re.IGNORECASE,
)
_REMEDY = (
    "take it out, put the address into an environment variable, and write the variable's name:  "
    'environment = "CLINIC_DATABASE"'
)


def refuse_credentials(document: Section) -> None:
    """Raise for the first value or key that looks like a credential; it is not repeated."""
    for place, value in _walk(document.values, ()):
        key = place[-1]
        named = isinstance(key, str) and key.lower() in _WORDS and not _is_name(place)
        if named or (isinstance(value, str) and not _is_query(place) and _ADDRESS.search(value)):
            holder = type(document)(
                page=document.page, place=place[:-1], title="", values=document.values
            )
            raise holder.wrong(key, "credentials do not belong into this file", _REMEDY)


def _walk(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    for key, entry in entries:
        yield (*place, key), entry
        yield from _walk(entry, (*place, key))


def _is_name(place: Place) -> bool:
    """Whether the key is a name that the owner chose: of a table, a column, an analyst."""
    if len(place) == 2:
        return place[0] in {"tables", "accounts"}
    return len(place) == 4 and place[2] in {"columns", "quotas", "shares", "plan"}


def _is_query(place: Place) -> bool:
    """Whether the text is SQL, which may compare a column of that name; or a key of a column."""
    return place[-1] == "sql" or (len(place) == 6 and place[2] == "columns")
