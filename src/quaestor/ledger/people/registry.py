"""The people of a ledger: who they are, how they sign in, and what they may do."""

from __future__ import annotations

import secrets as random_secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from quaestor.errors import (
    IdentityRefused,
    InvalidParameter,
    SignInFailed,
    TooManySignIns,
    UnknownPerson,
)
from quaestor.ledger import stored_text as texts
from quaestor.ledger.journal.appender import write_alone
from quaestor.ledger.people.credentials import Credential, add_credential, digest_of
from quaestor.ledger.people.identities import ProviderIdentity, add_identity, take_identity
from quaestor.ledger.people.passwords import check_password, hash_password
from quaestor.ledger.people.person import Person, checked_groups, checked_roles
from quaestor.ledger.people.trail import TrailEvent, append_to_trail, read_trail, verify_trail
from quaestor.ledger.store import people_statements as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from quaestor.ledger.store.base import Session, Store

__all__ = ["Identified", "People"]

DAY = 86_400.0
TOKEN_DAYS = 90.0
LINK_SECONDS = 900.0
SESSION_SECONDS = 12 * 3600.0
_LONGEST = 3660.0  # days
_WINDOW = 900.0  # seconds in which failed sign-ins are counted
_MOST_BY_BOTH, _MOST_BY_PLACE, _MOST_BY_NAME = 5, 30, 60


class Identified(NamedTuple):
    """Who has shown a valid credential, and what they may do with it.

    >>> from tempfile import TemporaryDirectory
    >>> from quaestor.ledger import Ledger
    >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/ledger.db") as ledger:
    ...     ann = ledger.people.add("ann", roles=["analyst"], by="the owner")
    ...     _, secret = ledger.people.create_token("ann", by="ann")
    ...     ledger.people.identify(secret, kind="token").roles
    ('analyst',)
    """

    person: Person
    credential: Credential

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the person that the credential can be used for."""
        return tuple(role for role in self.person.roles if role in self.credential.scopes)


class People:
    """Everybody whom a service over this ledger knows. ``by`` says who makes a change.

    >>> from tempfile import TemporaryDirectory
    >>> from quaestor.ledger import Ledger
    >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/ledger.db") as ledger:
    ...     ann = ledger.people.add("ann", roles=["analyst"], by="the owner")
    ...     ann.roles
    ('analyst',)
    """

    def __init__(self, store: Store) -> None:
        """Keep the store, which is the ledger's."""
        self._store = store

    # Reading.

    def all(self) -> tuple[Person, ...]:
        """Everybody, by name."""
        with self._store.reading() as session:
            return tuple(map(Person.from_row, session.rows(sql.PEOPLE)))

    def get(self, name: str) -> Person:
        """Somebody by their name, whatever its case."""
        with self._store.reading() as session:
            return _person(session, name)

    def credentials(self, kind: str, *, person: str = "") -> tuple[Credential, ...]:
        """The tokens, links or sessions of one person, or of all."""
        with self._store.reading() as session:
            rows = session.rows(sql.CREDENTIALS_OF, person=person, kind=kind)
        return tuple(map(Credential.from_row, rows))

    def identify(self, secret: str, *, kind: str) -> Identified | None:
        """Who this is, if the secret is a valid one of that kind and its person is active."""
        with self._store.reading() as session:
            row = session.row(sql.CREDENTIAL, digest=digest_of(secret))
            if row is None:
                return None
            found = Credential.from_row(row)
            if found.kind != kind or not found.valid(session.now()):
                return None
            person = session.row(sql.PERSON, folded=found.person.casefold())
        known = None if person is None else Person.from_row(person)
        return None if known is None or not known.active else Identified(known, found)

    def is_valid(self, id_: str, *, person: str) -> bool:
        """Whether a token or a session of somebody's, by its id, still opens anything."""
        with self._store.reading() as session:
            now, known = session.now(), _person(session, person)
            rows = [
                row
                for kind in ("token", "session")
                for row in session.rows(sql.CREDENTIALS_OF, person=known.name, kind=kind)
            ]
        found = (Credential.from_row(row) for row in rows)
        return known.active and any(each.id == id_ and each.valid(now) for each in found)

    def trail(self, *, after: int = 0, most: int | None = None) -> Iterator[TrailEvent]:
        """The audit trail, from the event after number ``after``."""
        return read_trail(self._store, after=after, most=most)

    def verify(self) -> int:
        """See that the audit trail holds together; how many events it has."""
        return verify_trail(self._store)

    # Changing.

    def add(
        self, name: str, *, roles: Iterable[str], groups: Iterable[str] = (), by: str
    ) -> Person:
        """Let somebody use the service."""
        added = Person(
            name=texts.name("name", name),
            roles=checked_roles("roles", roles),
            groups=checked_groups(groups),
        )

        def work(session: Session, time: str) -> Person:
            if session.row(sql.PERSON, folded=name.casefold()) is not None:
                raise InvalidParameter("name", name, "a new name: this one is taken")
            person = replace(added, created=time)
            session.run(sql.ADD_PERSON, **_columns(person), created=time, folded=name.casefold())
            _note(session, time, "person_added", by, person.name, _words(person))
            return person

        made: Person = self._write(work)
        return made

    def change(
        self,
        name: str,
        *,
        roles: Iterable[str] | None = None,
        groups: Iterable[str] | None = None,
        active: bool | None = None,
        by: str,
    ) -> Person:
        """Give somebody other roles or groups, or shut them out; the rest stays as it is.

        Raises:
            InvalidParameter: nobody would be left who is an owner.
        """
        said = None if roles is None else checked_roles("roles", roles)
        chosen = None if groups is None else checked_groups(groups)

        def work(session: Session, time: str) -> Person:
            before = _person(session, name)
            after = replace(
                before,
                roles=before.roles if said is None else said,
                groups=before.groups if chosen is None else chosen,
                ended=before.ended if active is None else "" if active else before.ended or time,
            )
            _refuse_without_owner(session, before, after)
            session.run(sql.SET_PERSON, **_columns(after))
            if before.active and not after.active:
                session.run(sql.END_CREDENTIALS_OF, person=after.name, time=time)
            _note(session, time, "person_changed", by, after.name, _words(after))
            return after

        made: Person = self._write(work)
        return made

    def set_password(self, name: str, password: str, *, by: str) -> None:
        """Let somebody sign in by a password, kept as its argon2 hash. Their sessions end."""
        hashed = hash_password(password)

        def work(session: Session, time: str) -> None:
            person = _person(session, name)
            session.run(sql.SET_PERSON, **_columns(replace(person, password=hashed)))
            session.run(sql.END_SESSIONS_OF, person=person.name, time=time)
            _note(session, time, "password_set", by, person.name)

        self._write(work)

    def create_token(
        self,
        name: str,
        *,
        scopes: Iterable[str] | None = None,
        days: float = TOKEN_DAYS,
        note: str = "",
        by: str,
    ) -> tuple[Credential, str]:
        """A new token of somebody's, and its secret, which is nowhere else from now on.

        Args:
            name: whose it is.
            scopes: the roles that it can be used for; those of the person if left out.
            days: after how many it expires.
            note: what it is for, in one line.
            by: who makes it.
        """
        if not isinstance(days, int | float) or not 0 < days <= _LONGEST:
            raise InvalidParameter("days", days, f"a number of days up to {_LONGEST:g}")
        wanted = None if scopes is None else checked_roles("scopes", scopes)
        said = texts.line("note", note)

        def work(session: Session, time: str) -> tuple[Credential, str]:
            person = _active(session, name)
            chosen = person.roles if wanted is None else wanted
            if beyond := [role for role in chosen if role not in person.roles]:
                raise InvalidParameter("scopes", beyond[0], f"a role that {person.name} has")
            made = add_credential(
                session, "token", person=person.name, scopes=chosen, note=said, seconds=days * DAY
            )
            _note(session, time, "token_created", by, person.name, f"token {made[0].id}")
            return made

        made: tuple[Credential, str] = self._write(work)
        return made

    def revoke(self, id_: str, *, kind: str, by: str, person: str = "") -> None:
        """End a token or a session, at once and for good; one of that person's, if one is named."""

        def work(session: Session, time: str) -> None:
            found = [
                each
                for each in map(
                    Credential.from_row, session.rows(sql.CREDENTIALS_OF, person=person, kind=kind)
                )
                if each.id == id_
            ]
            if not found:
                raise InvalidParameter(kind, id_, f"the id of an existing {kind}")
            session.run(sql.END_CREDENTIAL, id=id_, time=time)
            if not found[0].ended:
                _note(session, time, f"{kind}_ended", by, found[0].person, f"{kind} {id_}")

        self._write(work)

    def create_link(self, name: str, *, seconds: float = LINK_SECONDS, by: str) -> str:
        """The secret of a link with which somebody can sign in, once and soon."""

        def work(session: Session, time: str) -> str:
            person = _active(session, name)
            made, secret = add_credential(
                session, "link", person=person.name, scopes=(), note="", seconds=seconds
            )
            _note(session, time, "link_created", by, person.name, f"link {made.id}")
            return secret

        made: str = self._write(work)
        return made

    def link_identity(self, name: str, identity: ProviderIdentity, *, by: str) -> Credential:
        """Let somebody sign in as an identity provider knows them.

        Raises:
            InvalidParameter: the identity is linked with somebody already.
        """

        def work(session: Session, time: str) -> Credential:
            person = _active(session, name)
            made = add_identity(session, identity, person=person.name, time=time)
            _note(session, time, "identity_linked", by, person.name, f"{made.id}: {made.note}")
            return made

        made: Credential = self._write(work)
        return made

    # Signing in.

    def sign_in_by_link(self, secret: str, *, place: str) -> tuple[Identified, str]:
        """A new session for whoever has a link that was not used yet, and its secret.

        Raises:
            SignInFailed: it is not a link, it was used, or it is too old.
        """
        self._refuse_often("", place)

        def work(session: Session, time: str) -> tuple[Identified, str] | None:
            row = session.row(sql.USE_LINK, digest=digest_of(secret), time=time)
            known = None if row is None else session.row(sql.PERSON, folded=row[0].casefold())
            person = None if known is None else Person.from_row(known)
            if person is None or not person.active:
                _note(session, time, "sign_in_failed", "", "", place)
                return None
            return _signed_in(session, time, person, "link", place)

        return self._signed(work)

    def sign_in_by_password(
        self, name: str, password: str, *, place: str
    ) -> tuple[Identified, str]:
        """A new session for whoever knows somebody's password, and its secret.

        Raises:
            SignInFailed: the name or the password is wrong; which of both is not said.
            TooManySignIns: there were too many that failed.
        """
        subject = name[:200] if name.isprintable() else ""
        self._refuse_often(subject.casefold(), place)
        with self._store.reading() as session:
            row = session.row(sql.PERSON, folded=_storable(name).casefold())
        person = None if row is None else Person.from_row(row)
        right = check_password("" if person is None else person.password, password)
        if person is None or not right or not person.active:
            self._write(
                lambda session, time: _note(
                    session, time, "sign_in_failed", "", subject.casefold(), place
                )
            )
            raise SignInFailed
        known = person
        return self._signed(
            lambda session, time: _signed_in(session, time, known, "password", place)
        )

    def sign_in_by_identity(
        self, identity: ProviderIdentity, *, place: str
    ) -> tuple[Identified, str]:
        """A new session for whoever an identity provider says this is, and its secret.

        Raises:
            IdentityRefused: no owner has linked the identity with anybody.
            TooManySignIns: there were too many that failed.
        """
        self._refuse_often("", place)

        def work(session: Session, time: str) -> tuple[Identified, str] | None:
            name, linked = take_identity(session, identity, time=time)
            row = session.row(sql.PERSON, folded=name.casefold()) if name else None
            person = None if row is None else Person.from_row(row)
            if person is None or not person.active:
                _note(session, time, "sign_in_failed", "", _storable(identity.words), place)
                return None
            if linked is not None:
                said = f"{linked.id}: {linked.note}, in place of e-mail {identity.email}"
                _note(session, time, "identity_linked", person.name, person.name, said)
            return _signed_in(session, time, person, "identity provider", place)

        try:
            return self._signed(work)
        except SignInFailed:
            raise IdentityRefused(
                "not_linked",
                f"no person is linked to {identity.words}: ask an owner to link it to you",
            ) from None

    def note_failed_sign_in(self, *, place: str) -> None:
        """Count a sign-in that failed before it was known who it is."""
        self._write(lambda session, time: _note(session, time, "sign_in_failed", "", "", place))

    def refuse_often(self, *, place: str) -> None:
        """Refuse whoever has failed too often.

        Raises:
            TooManySignIns: there were too many from this place.
        """
        self._refuse_often("", place)

    def _signed(
        self, work: Callable[[Session, str], tuple[Identified, str] | None]
    ) -> tuple[Identified, str]:
        made = self._write(work)
        if made is None:
            raise SignInFailed
        found: tuple[Identified, str] = made
        return found

    def _refuse_often(self, name: str, place: str) -> None:
        """Refuse before a password is looked at, so that guessing more tells nothing.

        Counted are failures with this name from this place, from this place, and with this name.
        """
        with self._store.reading() as session:
            since = texts.later(session.now(), seconds=-_WINDOW)
            for subject, detail, most in (
                (name, place, _MOST_BY_BOTH),
                ("", place, _MOST_BY_PLACE),
                (name, "", _MOST_BY_NAME),
            ):
                if not (subject or detail) or (subject == "" and most == _MOST_BY_BOTH):
                    continue
                said = {"subject": subject, "detail": detail}
                row = session.row(sql.TRAIL_COUNT, kind="sign_in_failed", since=since, **said)
                if row is not None and row[0] >= most:
                    raise TooManySignIns(seconds=int(_WINDOW))

    def signing_key(self) -> str:
        """The secret with which this ledger's services sign cookies; made when first needed."""
        with self._store.reading() as session:
            row = session.row(sql.SECRET, name="cookies")
        if row is None:
            made = random_secrets.token_urlsafe(32)

            def work(session: Session) -> Any:
                session.run(sql.ADD_SECRET, name="cookies", secret=made)
                return session.row(sql.SECRET, name="cookies")

            row = write_alone(self._store, work)
        return str(row[0])

    def _write(self, work: Callable[[Session, str], Any]) -> Any:
        """One transaction at a time: the trail is a chain."""

        def alone(session: Session) -> Any:
            session.lock_accounts()
            return work(session, session.now())

        return write_alone(self._store, alone)


def _columns(person: Person) -> dict[str, Any]:
    return {
        "name": person.name,
        "roles": texts.canonical(list(person.roles)),
        "groups": texts.canonical(list(person.groups)),
        "password": person.password,
        "ended": person.ended,
    }


def _storable(name: str) -> str:
    """A name that a store can look for, whatever somebody has typed."""
    return name if name.isprintable() else ""


def _person(session: Session, name: str) -> Person:
    row = session.row(sql.PERSON, folded=_storable(name).casefold())
    if row is None:
        raise UnknownPerson(name)
    return Person.from_row(row)


def _active(session: Session, name: str) -> Person:
    person = _person(session, name)
    if not person.active:
        raise InvalidParameter("person", person.name, "active: this person is blocked")
    return person


def _refuse_without_owner(session: Session, before: Person, after: Person) -> None:
    if not (before.active and "owner" in before.roles) or (after.active and "owner" in after.roles):
        return
    others = (Person.from_row(row) for row in session.rows(sql.PEOPLE))
    if not any(p.active and "owner" in p.roles and p.name != before.name for p in others):
        raise InvalidParameter("roles", list(after.roles), "such that at least one owner remains")


def _note(  # noqa: PLR0913  # what an event says
    session: Session, time: str, kind: str, actor: str, subject: str, detail: str = ""
) -> None:
    append_to_trail(session, kind, time=time, actor=actor, subject=subject, detail=detail)


def _words(person: Person) -> str:
    groups = f"; groups {', '.join(person.groups)}" if person.groups else ""
    return f"roles {', '.join(person.roles)}{groups}{'' if person.active else '; shut out'}"


def _signed_in(
    session: Session, time: str, person: Person, how: str, place: str
) -> tuple[Identified, str]:
    made, secret = add_credential(
        session,
        "session",
        person=person.name,
        scopes=person.roles,
        note=how,
        seconds=SESSION_SECONDS,
    )
    _note(session, time, "signed_in", person.name, person.name, f"by {how} from {place}")
    return Identified(person, made), secret
