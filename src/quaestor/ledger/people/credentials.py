"""Credentials: random secrets that say who somebody is, kept as digests, for a limited time.

A *token* is for programs, a *link* signs somebody in once, a *session* is a browser's. Of each, the
store has the SHA-256 only: whoever reads the store can use none of them.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.ledger import stored_text as texts
from quaestor.ledger.store import people_statements as sql

if TYPE_CHECKING:
    from quaestor.ledger.store.base import Row, Session

__all__ = ["Credential", "add_credential", "digest_of"]

_PREFIX = {"token": "qst_", "link": "qsl_", "session": "qss_"}
_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A token, a link or a session, without its secret.

    >>> token = Credential(
    ...     id="1", kind="token", person="ann", scopes=("analyst",), note="laptop",
    ...     created="2026-01-01T00:00:00Z", expires="2027-01-01T00:00:00Z", ended="",
    ... )
    >>> token.person, token.scopes
    ('ann', ('analyst',))
    """

    id: str
    """What it is called, so that it can be revoked; it opens nothing."""
    kind: str
    person: str
    scopes: tuple[str, ...]
    """The roles that it can be used for, of those that the person has."""
    note: str
    created: str
    expires: str
    ended: str

    def valid(self, now: str) -> bool:
        """Whether it opens anything."""
        return not self.ended and now < self.expires

    @classmethod
    def from_row(cls, row: Row) -> Credential:
        """As the store keeps it."""
        id_, kind, person, scopes, note, created, expires, ended, _ = row
        return cls(
            id=id_,
            kind=kind,
            person=person,
            scopes=tuple(json.loads(scopes)),
            note=note,
            created=created,
            expires=expires,
            ended=ended,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        names = ("id", "person", "note", "created", "expires", "ended")
        return {
            **{name: getattr(self, name) for name in names},
            "scopes": list(self.scopes),
        }


def digest_of(secret: str) -> str:
    """What the store keeps of a secret: it has 256 bits, so that nobody guesses it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def add_credential(  # noqa: PLR0913  # what a credential says
    session: Session,
    kind: str,
    *,
    person: str,
    scopes: tuple[str, ...],
    note: str,
    seconds: float,
) -> tuple[Credential, str]:
    """Make a new one, within a transaction; with its secret, which is shown once."""
    secret, time = _PREFIX[kind] + secrets.token_urlsafe(_BYTES), session.now()
    made = Credential(
        id=secrets.token_hex(6),
        kind=kind,
        person=person,
        scopes=scopes,
        note=note,
        created=time,
        expires=texts.later(time, seconds=seconds),
        ended="",
    )
    session.run(
        sql.ADD_CREDENTIAL,
        digest=digest_of(secret),
        id=made.id,
        kind=kind,
        person=person,
        scopes=texts.canonical(list(scopes)),
        note=note,
        created=made.created,
        expires=made.expires,
    )
    return made, secret
