"""Identities: how an identity provider (OpenID Connect) calls people whom a ledger knows.

An identity is linked with a person by an owner: by the provider's issuer and subject, or by an
e-mail address. An address is good for one sign-in: it then gives way to the subject that came with
it, so that whoever gets the address later gets nothing.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter
from quaestor.ledger import stored_text as texts
from quaestor.ledger.people.credentials import Credential, digest_of
from quaestor.ledger.store import people_statements as sql

if TYPE_CHECKING:
    from quaestor.ledger.store.base import Session

__all__ = ["ProviderIdentity", "add_identity", "identity_to_link", "take_identity"]

_SECONDS = 100 * 365 * 86_400.0  # until an owner ends it
_MOST = 255  # characters: OpenID Connect Core, section 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderIdentity:
    """Somebody, as an identity provider knows them.

    >>> ProviderIdentity(issuer="https://login.example.org", email="ann@example.org").email
    'ann@example.org'
    """

    issuer: str
    subject: str = ""
    """Who it is: never another person's, says the provider."""
    email: str = ""
    """An e-mail address of theirs that the provider has verified, if there is one."""

    @property
    def words(self) -> str:
        """How it is listed."""
        which = f"subject {self.subject}" if self.subject else f"e-mail {self.email}"
        return f"{which} at {self.issuer}"


def identity_to_link(*, issuer: str, subject: str = "", email: str = "") -> ProviderIdentity:
    """What an owner links: a subject or an e-mail address, as it is to be found.

    >>> identity_to_link(issuer="https://login.example.org", email="Ann@Example.org").email
    'ann@example.org'
    """
    if bool(subject) == bool(email):
        raise InvalidParameter("identity", subject or email, "either a subject or an e-mail")
    for field, value in (("issuer", issuer), ("subject", subject), ("email", email)):
        if not isinstance(value, str) or len(value) > _MOST or not value.isprintable():
            raise InvalidParameter(field, value, f"at most {_MOST} printable characters")
    if not issuer.startswith(("https://", "http://")):
        raise InvalidParameter("issuer", issuer, "the provider's address, as its tokens have it")
    if email and (email.count("@") != 1 or " " in email or email[0] == "@" or email[-1] == "@"):
        raise InvalidParameter("email", email, "an e-mail address")
    return ProviderIdentity(issuer=issuer, subject=subject, email=email.casefold())


def add_identity(
    session: Session, identity: ProviderIdentity, *, person: str, time: str
) -> Credential:
    """Link it with somebody, within a transaction.

    Raises:
        InvalidParameter: it is linked already.
    """
    made = Credential(
        id=secrets.token_hex(6),
        kind="identity",
        person=person,
        scopes=(),
        note=identity.words,
        created=time,
        expires=texts.later(time, seconds=_SECONDS),
        ended="",
    )
    row = session.row(
        sql.ADD_IDENTITY,
        digest=_digest(identity),
        id=made.id,
        person=person,
        note=made.note,
        created=made.created,
        expires=made.expires,
    )
    if row is None:
        valid = "an identity that is not linked to a person yet: unlink it first"
        raise InvalidParameter("identity", identity.words, valid)
    return made


def take_identity(
    session: Session, identity: ProviderIdentity, *, time: str
) -> tuple[str, Credential | None]:
    """Whose it is (empty: nobody's), within a transaction; and the link that it made anew.

    A subject that is linked decides. Otherwise an address that an owner has linked is used up,
    unless the subject was unlinked since.
    """
    subject = ProviderIdentity(issuer=identity.issuer, subject=identity.subject)
    known = _found(session, subject)
    if known is not None and known.valid(time):
        return known.person, None
    if not identity.email:
        return "", None
    email = ProviderIdentity(issuer=identity.issuer, email=identity.email.casefold())
    mapped = _found(session, email)
    if mapped is None or not mapped.valid(time):
        return "", None
    if known is not None and mapped.created <= known.ended:
        return "", None
    session.run(sql.END_CREDENTIAL, id=mapped.id, time=time)
    return mapped.person, add_identity(session, subject, person=mapped.person, time=time)


def _found(session: Session, identity: ProviderIdentity) -> Credential | None:
    row = session.row(sql.CREDENTIAL, digest=_digest(identity))
    return None if row is None else Credential.from_row(row)


def _digest(identity: ProviderIdentity) -> str:
    """The key of the row. It is no secret: it opens nothing without the provider's word."""
    which = ["subject", identity.subject] if identity.subject else ["email", identity.email]
    return digest_of(texts.canonical(["identity", identity.issuer, *which]))
