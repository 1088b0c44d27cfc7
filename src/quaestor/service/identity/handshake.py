"""One sign-in by an identity provider while it is under way: what has to come back, and from whom.

The browser keeps one random secret in a signed cookie for ten minutes. State, nonce and code
verifier are derived from it with the ledger's key, so that nothing is stored before somebody is
known, and what comes back can only be used by the browser that set out.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from itsdangerous import BadSignature, Signer, TimestampSigner

from quaestor.errors import IdentityRefused
from quaestor.service.identity.callers import cookie_name, on_this_machine

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from quaestor.ledger import People

__all__ = ["Handshake", "Handshakes"]

_COOKIE = "quaestor_oidc"
_SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Handshake:
    """What a sign-in sends to the provider, and what it has to get back."""

    state: str
    nonce: str
    verifier: str
    """The secret behind the code challenge (PKCE)."""


class Handshakes:
    """Begins sign-ins, and recognises those that come back."""

    def __init__(self, people: People) -> None:
        """Keep the key with which cookies are signed."""
        self._key = people.signing_key()
        self._cookies = TimestampSigner(self._key, salt="oidc", digest_method=sha256)

    def begin(self, request: Request, response: Response) -> Handshake:
        """A new one; the browser gets its cookie."""
        secret = secrets.token_urlsafe(32)
        response.set_cookie(
            cookie_name(_COOKIE, request),
            self._cookies.sign(secret).decode(),
            max_age=_SECONDS,
            httponly=True,
            samesite="lax",  # it has to come back with a link from the provider's page
            secure=not on_this_machine(request),
            path="/",
        )
        return self._derived(secret)

    def resume(self, request: Request, *, state: str) -> Handshake:
        """The one that this browser has begun.

        Raises:
            IdentityRefused: it has begun none, or another one, or too long ago.
        """
        cookie = request.cookies.get(cookie_name(_COOKIE, request), "")
        try:
            secret = self._cookies.unsign(cookie.encode("utf-8", "replace"), max_age=_SECONDS)
            begun = self._derived(secret.decode())
        except (BadSignature, UnicodeDecodeError):
            raise _expired() from None
        if not hmac.compare_digest(begun.state.encode(), state.encode("utf-8", "replace")):
            raise _expired()
        return begun

    def forget(self, request: Request, response: Response) -> None:
        """Take the cookie back: a handshake is used once."""
        response.delete_cookie(
            cookie_name(_COOKIE, request),
            path="/",
            httponly=True,
            samesite="lax",
            secure=not on_this_machine(request),
        )

    def _derived(self, secret: str) -> Handshake:
        state, nonce, verifier = (
            Signer(self._key, salt=f"oidc {use}", digest_method=sha256)
            .get_signature(secret)
            .decode()
            for use in ("state", "nonce", "verifier")
        )
        return Handshake(state=state, nonce=nonce, verifier=verifier)


def _expired() -> IdentityRefused:
    return IdentityRefused(
        "expired", "this browser started no such sign-in in the last ten minutes: start again"
    )
