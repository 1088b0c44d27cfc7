"""Who is calling: by a token in the header, or by a browser's signed session cookie."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from itsdangerous import BadSignature, Signer

from quaestor.errors import NotAllowed, NotSignedIn

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from quaestor.ledger import Identified, People

__all__ = [
    "COOKIE",
    "SAFE",
    "Caller",
    "Callers",
    "cookie_name",
    "on_this_machine",
    "place_of_client",
    "place_of_request",
]

COOKIE = "quaestor_session"
FIELD = "csrf_token"
HEADER = "X-CSRF-Token"
SAFE = {"GET", "HEAD", "OPTIONS"}
"""Methods that change nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody who is known. The analyst of a charge, and the groups, are what is said here."""

    name: str
    roles: frozenset[str]
    groups: tuple[str, ...]
    credential: str
    """The id of the token or session."""
    csrf: str = ""
    """What a browser has to repeat with every change; empty for tokens."""

    def has(self, *roles: str) -> bool:
        """Whether they have one of these roles."""
        return bool(self.roles.intersection(roles))

    @property
    def oversees(self) -> bool:
        """Whether they may see what all analysts together have charged."""
        return self.has("owner", "approver", "auditor")


class Callers:
    """Finds out who is calling, and signs what browsers keep."""

    def __init__(self, people: People) -> None:
        """Keep the people, and the key with which cookies are signed."""
        self.people = people
        key = people.signing_key()
        self._cookies = Signer(key, salt="session", digest_method=sha256)
        self._csrf = Signer(key, salt="csrf", digest_method=sha256)

    def identify(self, request: Request) -> Caller:
        """Whoever calls.

        Raises:
            NotSignedIn: nobody in particular. A token that is not valid counts as nobody, whatever
                cookie comes with it.
        """
        header = request.headers.get("authorization")
        if header is not None:
            scheme, _, secret = header.partition(" ")
            found = (
                self.people.identify(secret.strip(), kind="token")
                if scheme.lower() == "bearer"
                else None
            )
            if found is None:
                raise NotSignedIn
            return _caller(found, csrf="")
        secret = self._unsigned(request.cookies.get(cookie_name(COOKIE, request), ""))
        found = self.people.identify(secret, kind="session") if secret else None
        if found is None:
            raise NotSignedIn
        return _caller(found, csrf=self._csrf.get_signature(secret).decode())

    def _unsigned(self, cookie: str) -> str:
        try:
            return self._cookies.unsign(cookie.encode("utf-8", "replace")).decode()
        except (BadSignature, UnicodeDecodeError):
            return ""

    async def check_origin(self, request: Request, caller: Caller) -> None:
        """See that a change that a browser asks for was asked for by one of our own pages.

        Raises:
            NotAllowed: the page's token is missing or another one.
        """
        if not caller.csrf or request.method in SAFE:
            return
        given = request.headers.get(HEADER, "")
        kind = request.headers.get("content-type", "")
        if not given and kind.startswith(
            ("application/x-www-form-urlencoded", "multipart/form-data")
        ):
            given = str((await request.form()).get(FIELD, ""))
        if not hmac.compare_digest(given.encode("utf-8", "replace"), caller.csrf.encode()):
            problem = f"send the page's token in the header {HEADER}, or in the field {FIELD}"
            raise NotAllowed((), problem=problem)

    def refuse_other_sites(self, request: Request) -> None:
        """See that a sign-in was not sent by a page of another site: it would be somebody else's.

        Browsers say where a request comes from in ``Sec-Fetch-Site``, older ones in ``Origin``.

        Raises:
            NotAllowed: another site has sent it.
        """
        site, origin = (request.headers.get(name) for name in ("sec-fetch-site", "origin"))
        own = {None, "null", f"http://{request.url.netloc}", f"https://{request.url.netloc}"}
        if site not in {"same-origin", "none"} if site is not None else origin not in own:
            raise NotAllowed(
                (),
                problem="sign in on the page of this service: the request came from another site",
            )

    def sign_in(self, request: Request, response: Response, secret: str) -> str:
        """Give a browser its new session, and what its pages have to repeat with every change.

        The session that it had before, whoever gave it that, ends.
        """
        name = cookie_name(COOKIE, request)
        before = self._unsigned(request.cookies.get(name, ""))
        old = self.people.identify(before, kind="session") if before else None
        if old is not None:
            person = old.person.name
            self.people.revoke(old.credential.id, kind="session", by=person, person=person)
        response.set_cookie(
            name,
            self._cookies.sign(secret).decode(),
            httponly=True,
            samesite="strict",
            secure=not on_this_machine(request),
            path="/",
        )
        return self._csrf.get_signature(secret).decode()

    def sign_out(self, request: Request, response: Response) -> None:
        """End the session of whoever calls, here and in the browser."""
        caller: Caller = request.state.caller
        self.people.revoke(caller.credential, kind="session", by=caller.name, person=caller.name)
        response.delete_cookie(
            cookie_name(COOKIE, request),
            path="/",
            httponly=True,
            samesite="strict",
            secure=not on_this_machine(request),
        )


def _caller(found: Identified, *, csrf: str) -> Caller:
    return Caller(
        name=found.person.name,
        roles=frozenset(found.roles),
        groups=found.person.groups,
        credential=found.credential.id,
        csrf=csrf,
    )


def place_of_request(request: Request) -> str:
    """Where a request comes from, for counting: an address or, of IPv6, a network.

    Whoever has one IPv6 address usually has 2**64 of them.
    """
    return place_of_client(request.client.host if request.client else "")


def place_of_client(host: str) -> str:
    """The address of a client, for counting; what is none counts as one place."""
    try:
        address = ip_address(host)
    except ValueError:
        return "unknown"
    if address.version == 6 and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    if address.version == 4 or address.is_loopback:
        return str(address)
    return str(ip_network((int(address) >> 64 << 64, 64)))


def cookie_name(name: str, request: Request) -> str:
    """The name of a cookie here: under TLS, one that no other host of the domain can set."""
    return name if on_this_machine(request) else f"__Host-{name}"


def on_this_machine(request: Request) -> bool:
    """Whether it is plain HTTP to this machine itself: there alone a cookie may do without TLS."""
    if request.url.scheme != "http":
        return False
    host = request.url.hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
