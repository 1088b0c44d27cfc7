"""The identity provider: OpenID Connect by the authorization code flow with PKCE.

Authlib makes the requests and checks what the ID token claims. Its signature is checked with the
provider's published keys and asymmetric algorithms alone; issuer, audience, nonce and times have
to be right. Nothing but the ID token is believed, and no access token is kept.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from quaestor.curator.catalog.identity_provider import is_safe_address
from quaestor.errors import IdentityRefused, MissingAddress, MissingExtra, ProviderUnavailable
from quaestor.ledger import ProviderIdentity

if TYPE_CHECKING:
    import httpx

    from quaestor.curator.catalog.identity_provider import ProviderPlan
    from quaestor.service.identity.handshake import Handshake

__all__ = ["CALLBACK", "IdentityProvider"]

CALLBACK = "/sign-in/oidc/callback"
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
_PATIENCE = 10.0  # seconds for each request to the provider
_KEPT = 3600.0  # seconds until the provider's description is read again
_PAUSE = 5.0  # seconds after a failure in which it is not asked for its description again
_LEEWAY = 60  # seconds by which clocks may differ
_LARGEST = 1_000_000  # bytes of a description or of keys


class IdentityProvider:
    """A provider that the catalog names."""

    def __init__(self, plan: ProviderPlan) -> None:
        """Read the client's secret from the environment; the provider is asked when needed.

        Raises:
            MissingAddress: the variable that holds the secret is not set.
            MissingExtra: Authlib is not installed.
        """
        try:
            import authlib  # type: ignore[import-untyped]  # noqa: F401
        except ImportError:
            purpose = "sign-in by an identity provider"
            raise MissingExtra("authlib", extra="service", purpose=purpose) from None
        self._plan, self._secret = plan, os.environ.get(plan.environment, "")
        if not self._secret:
            raise MissingAddress(plan.environment)
        self._lock = threading.Lock()
        self._described: tuple[float, dict[str, Any]] | None = None
        self._failed: float | None = None
        self._keys: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self._plan.name

    @property
    def issuer(self) -> str:
        """What it calls itself."""
        return self._plan.issuer

    def address(self, handshake: Handshake) -> str:
        """Where a browser goes to sign in.

        Raises:
            ProviderUnavailable: the provider does not say where.
        """
        endpoint = self._endpoint("authorization_endpoint")
        with _session() as session:
            made, _ = self._client(session).create_authorization_url(
                endpoint,
                state=handshake.state,
                nonce=handshake.nonce,
                code_verifier=handshake.verifier,
            )
        return str(made)

    def identity(self, handshake: Handshake, *, code: str, issuer: str | None) -> ProviderIdentity:
        """Who has signed in there, by the code that a browser has brought back.

        Raises:
            IdentityRefused: the code, or the ID token, is not right.
            ProviderUnavailable: the provider does not answer.
        """
        expected = self._description().get("authorization_response_iss_parameter_supported")
        if (issuer is not None or expected is True) and issuer != self._plan.issuer:
            raise _wrong("the answer is another provider's")
        token = self._exchanged(handshake, code)
        claims = self._claims(handshake, token)
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= 255 or not subject.isprintable():
            raise _wrong("it names no person")
        if "email" not in claims:
            claims = self._more(subject, token)
        email = claims.get("email")
        verified = claims.get("email_verified") is True and isinstance(email, str)
        return ProviderIdentity(
            issuer=self._plan.issuer, subject=subject, email=str(email) if verified else ""
        )

    def _more(self, subject: str, token: dict[str, Any]) -> dict[str, Any]:
        """What the provider says of somebody beside the ID token; nothing, if it is another."""
        if "userinfo_endpoint" not in self._description():
            return {}
        headers = {"Authorization": f"Bearer {token.get('access_token')}"}
        try:
            said = self._read(self._endpoint("userinfo_endpoint"), headers)
        except ProviderUnavailable:  # the subject is known without it
            return {}
        return said if said.get("sub") == subject else {}

    def _exchanged(self, handshake: Handshake, code: str) -> dict[str, Any]:
        """The provider's tokens, for a code."""
        import httpx
        from authlib.common.errors import AuthlibBaseError  # type: ignore[import-untyped]

        supported = self._description().get("token_endpoint_auth_methods_supported")
        more: dict[str, Any] = {"client_id": self._plan.client, "client_secret": self._secret}
        auth: httpx.Auth | None = None
        if not isinstance(supported, list) or "client_secret_basic" in supported:
            more = {}
            auth = httpx.BasicAuth(quote(self._plan.client, safe=""), quote(self._secret, safe=""))
        try:
            with _session() as session:
                return dict(
                    self._client(session).fetch_token(
                        self._endpoint("token_endpoint"),
                        grant_type="authorization_code",
                        code=code,
                        code_verifier=handshake.verifier,
                        auth=auth or httpx.Auth(),
                        **more,
                    )
                )
        except AuthlibBaseError:
            raise _wrong("the provider refuses the code") from None
        except (httpx.HTTPError, ValueError, TypeError):
            raise ProviderUnavailable("it does not answer") from None

    def _claims(self, handshake: Handshake, token: dict[str, Any]) -> dict[str, Any]:
        """What the ID token says, once everything about it was checked."""
        from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
        from joserfc.errors import InvalidKeyIdError, JoseError

        written = token.get("id_token")
        if not isinstance(written, str):
            raise _wrong("there is no ID token")
        try:
            try:
                decoded = self._decoded(written, anew=False)
            except InvalidKeyIdError:  # the provider has new keys
                decoded = self._decoded(written, anew=True)
            claims = CodeIDToken(
                decoded.claims,
                decoded.header,
                {
                    "iss": {"essential": True, "value": self._plan.issuer},
                    "aud": {"essential": True, "value": self._plan.client},
                    "sub": {"essential": True},
                    "exp": {"essential": True},
                    "iat": {"essential": True},
                },
                {
                    "nonce": handshake.nonce,
                    "client_id": self._plan.client,
                    "access_token": token.get("access_token"),
                },
            )
            claims.validate(leeway=_LEEWAY)
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            raise _wrong("its ID token is not valid") from None
        return dict(claims)

    def _decoded(self, written: str, *, anew: bool) -> Any:
        from joserfc import jwt
        from joserfc.jwk import KeySet
        from joserfc.jws import JWSRegistry

        if anew or self._keys is None:
            self._keys = self._read(self._endpoint("jwks_uri"))
        keys = KeySet.import_key_set(self._keys)  # type: ignore[arg-type]  # checked there
        registry = JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
        return jwt.decode(written, key=keys, registry=registry)

    def _client(self, session: httpx.Client) -> Any:
        from authlib.oauth2.client import OAuth2Client  # type: ignore[import-untyped]

        return OAuth2Client(
            session,
            client_id=self._plan.client,
            scope="openid email",
            redirect_uri=self._plan.address + CALLBACK,
            code_challenge_method="S256",
        )

    def _endpoint(self, name: str) -> str:
        found = self._description().get(name)
        if not isinstance(found, str) or not is_safe_address(found.partition("?")[0]):
            raise ProviderUnavailable(f"it has no {name} under https")
        return found

    def _description(self) -> dict[str, Any]:
        """The provider's metadata (OpenID Connect Discovery), read from time to time."""
        with self._lock:
            now = time.monotonic()
            if self._described is not None and now - self._described[0] < _KEPT:
                return self._described[1]
            if self._failed is not None and now - self._failed < _PAUSE:
                raise ProviderUnavailable("it does not answer")
            place = self._plan.issuer.rstrip("/") + "/.well-known/openid-configuration"
            self._failed = now
            read = self._read(place)
            if read.get("issuer") != self._plan.issuer:
                raise ProviderUnavailable("its name differs from the one in the catalog")
            self._described, self._keys, self._failed = (now, read), None, None
            return read

    def _read(self, place: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
        import httpx

        try:
            with _session() as session:
                answered = session.get(
                    place, headers={"Accept": "application/json", **(headers or {})}
                )
                if answered.status_code != 200 or len(answered.content) > _LARGEST:
                    raise ProviderUnavailable(f"it answers with {answered.status_code}")
                read = answered.json()
        except (httpx.HTTPError, ValueError):
            raise ProviderUnavailable("it does not answer") from None
        if not isinstance(read, dict):
            raise ProviderUnavailable("it has no valid description")
        return read


def _session() -> httpx.Client:
    """A client that follows no redirection."""
    import httpx

    return httpx.Client(timeout=_PATIENCE, follow_redirects=False)


def _wrong(problem: str) -> IdentityRefused:
    return IdentityRefused(
        "provider", f"the sign-in could not be verified: {problem}; sign in again"
    )
