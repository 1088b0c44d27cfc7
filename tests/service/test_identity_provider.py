"""A provider that lies, as no real one does: what is believed of an ID token, and what is not."""

from __future__ import annotations

import json
import threading
import time
from base64 import urlsafe_b64encode
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from quaestor.curator.catalog.catalog_file import catalog_from_toml
from quaestor.curator.catalog.identity_provider import ProviderPlan, is_safe_address
from quaestor.errors import IdentityRefused, InvalidCatalog, MissingAddress, ProviderUnavailable
from quaestor.service.identity.handshake import Handshake
from quaestor.service.identity.provider import IdentityProvider

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY, OTHER = (RSAKey.generate_key(2048, {"kid": "1"}) for _ in range(2))
SECRET = "the secret of the client"  # noqa: S105
HANDSHAKE = Handshake(state="s" * 43, nonce="n" * 43, verifier="v" * 43)


class _Liar(BaseHTTPRequestHandler):
    """Answers with whatever a test has put into the server's ``said``."""

    def do_GET(self) -> None:
        self._answer(self.server.said.get(self.path))  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(self.server.said.get(self.path))  # type: ignore[attr-defined]

    def _answer(self, said: Any) -> None:
        body = json.dumps(said).encode()
        self.send_response(404 if said is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def liar() -> Iterator[HTTPServer]:
    """A server that says what it is told to."""
    server = HTTPServer(("127.0.0.1", 0), _Liar)
    url = f"http://127.0.0.1:{server.server_port}"
    server.said = {  # type: ignore[attr-defined]
        "/.well-known/openid-configuration": {
            "issuer": url,
            "authorization_endpoint": f"{url}/auth",
            "token_endpoint": f"{url}/token",
            "jwks_uri": f"{url}/keys",
            "userinfo_endpoint": f"{url}/me",
        },
        "/keys": {"keys": [KEY.as_dict(private=False)]},
    }
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _provider(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> IdentityProvider:
    monkeypatch.setenv("LIARS_SECRET", SECRET)
    url = f"http://127.0.0.1:{server.server_port}"
    plan = ProviderPlan(
        issuer=url,
        client="quaestor",
        environment="LIARS_SECRET",
        address="https://data.example.org",
        name="liar",
    )
    return IdentityProvider(plan)


def _claims(server: HTTPServer, **changes: Any) -> dict[str, Any]:
    now = int(time.time())
    claims = {
        "iss": f"http://127.0.0.1:{server.server_port}",
        "sub": "ann",
        "aud": "quaestor",
        "exp": now + 600,
        "iat": now,
        "nonce": HANDSHAKE.nonce,
    }
    return {name: value for name, value in {**claims, **changes}.items() if value is not None}


def _says(server: HTTPServer, id_token: object) -> None:
    server.said["/token"] = {  # type: ignore[attr-defined]
        "access_token": "a",
        "token_type": "Bearer",
        "id_token": id_token,
    }


def test_a_right_token_is_believed(liar: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = _provider(liar, monkeypatch)
    _says(liar, jwt.encode({"alg": "RS256", "kid": "1"}, _claims(liar), KEY))
    found = provider.identity(HANDSHAKE, code="c", issuer=None)
    assert (found.subject, found.email) == ("ann", "")
    liar.said["/me"] = {"sub": "bob", "email": "a@b.c", "email_verified": True}  # type: ignore[attr-defined]
    assert provider.identity(HANDSHAKE, code="c", issuer=None).email == ""
    liar.said["/me"] = {"sub": "ann", "email": "a@b.c", "email_verified": "true"}  # type: ignore[attr-defined]
    assert provider.identity(HANDSHAKE, code="c", issuer=None).email == ""
    address = provider.address(HANDSHAKE)
    assert "redirect_uri=https%3A%2F%2Fdata.example.org%2Fsign-in%2Foidc%2Fcallback" in address
    assert HANDSHAKE.verifier not in address


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://evil.example"},
        {"aud": "another client"},
        {"aud": ["another client", "a third"]},
        {"aud": ["quaestor", "another client"], "azp": "another client"},
        {"exp": 1},
        {"exp": None},
        {"iat": None},
        {"nonce": "another"},
        {"nonce": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "a\nb"},
        {"nbf": 99999999999},
    ],
    ids=str,
)
def test_wrong_claims_are_not_believed(
    liar: HTTPServer, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    provider = _provider(liar, monkeypatch)
    _says(liar, jwt.encode({"alg": "RS256", "kid": "1"}, _claims(liar, **changes), KEY))
    with pytest.raises(IdentityRefused):
        provider.identity(HANDSHAKE, code="c", issuer=None)


def test_wrong_signatures_are_not_believed(
    liar: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, claims = _provider(liar, monkeypatch), _claims(liar)
    public = json.dumps(KEY.as_dict(private=False))
    head, body = (
        urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": "none"}, claims)
    )
    right = jwt.encode({"alg": "RS256", "kid": "1"}, claims, KEY)
    for token in (
        jwt.encode({"alg": "RS256", "kid": "1"}, claims, OTHER),
        jwt.encode({"alg": "RS256", "kid": "2"}, claims, OTHER),
        jwt.encode({"alg": "HS256", "kid": "1"}, claims, OctKey.import_key(public)),
        jwt.encode({"alg": "HS256", "kid": "1"}, claims, OctKey.import_key(SECRET)),
        f"{head}.{body}.",
        f"{right}x",
        right.rpartition(".")[0] + ".",
        "",
        "a.b.c",
        None,
        7,
    ):
        _says(liar, token)
        with pytest.raises(IdentityRefused):
            provider.identity(HANDSHAKE, code="c", issuer=None)


def test_another_issuers_answer_and_a_broken_provider_are_refused(
    liar: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = _provider(liar, monkeypatch)
    _says(liar, jwt.encode({"alg": "RS256", "kid": "1"}, _claims(liar), KEY))
    with pytest.raises(IdentityRefused):
        provider.identity(HANDSHAKE, code="c", issuer="https://evil.example")
    liar.said["/token"] = {"error": "invalid_grant"}  # type: ignore[attr-defined]
    with pytest.raises(IdentityRefused):
        provider.identity(HANDSHAKE, code="c", issuer=None)
    for broken in (["a", "list"], "text"):
        liar.said["/token"] = broken  # type: ignore[attr-defined]
        with pytest.raises((IdentityRefused, ProviderUnavailable)):
            provider.identity(HANDSHAKE, code="c", issuer=None)
    liar.said["/.well-known/openid-configuration"]["issuer"] = "x"  # type: ignore[attr-defined]
    with pytest.raises(ProviderUnavailable, match="its name differs from the one in the catalog"):
        _provider(liar, monkeypatch).address(HANDSHAKE)
    monkeypatch.delenv("LIARS_SECRET")
    with pytest.raises(MissingAddress):
        IdentityProvider(provider._plan)


RIGHT = {
    "issuer": "https://login.example.org/realm",
    "client": "quaestor",
    "environment": "OIDC_SECRET",
    "address": "https://data.example.org/",
}


def _catalog(**changes: Any) -> str:
    said = {name: value for name, value in {**RIGHT, **changes}.items() if value is not None}
    return "[service.oidc]\n" + "".join(f"{n} = {json.dumps(v)}\n" for n, v in said.items())


def test_a_catalog_names_the_provider_and_never_the_secret() -> None:
    plan = catalog_from_toml(_catalog()).provider
    assert plan is not None
    assert (plan.name, plan.address) == ("login.example.org", "https://data.example.org")
    assert catalog_from_toml("").provider is None
    for wrong in (
        {"issuer": "http://login.example.org"},
        {"issuer": "https://user:pass@login.example.org"},
        {"issuer": None},
        {"client": None},
        {"environment": None},
        {"environment": "not a name"},
        {"address": "data.example.org"},
        {"address": "https://data.example.org/path"},
        {"secret": "in clear"},
    ):
        with pytest.raises(InvalidCatalog):
            catalog_from_toml(_catalog(**wrong))
    assert is_safe_address("http://127.0.0.1:8080")
    assert not is_safe_address("http://[::")
