"""Hostile requests: bodies, headers, paths, SQL in every field; and what the log holds of it."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.service.running import COUNT, RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

EVIL = [
    "'; DROP TABLE ledger_people; --",
    '" OR 1=1 --',
    "x\0y",
    "\ud800",
    "a\r\nSet-Cookie: a=b",
    "../../etc/passwd",
    "%2e%2e%2f",
    "{{7*7}}",
    "\u202eevil",
    "x" * 5000,
    "*",
    " ",
]
BODIES: dict[str, dict[str, Any]] = {
    "/api/v1/preview": {"sql": COUNT, "epsilon": 0.1, "account": "research"},
    "/api/v1/questions": {
        "sql": COUNT,
        "epsilon": 0.1,
        "account": "research",
        "purpose": "why",
        "approval": "",
        "audience": "",
    },
    "/api/v1/approvals": {"sql": COUNT, "epsilon": 0.1, "account": "careful", "purpose": "why"},
    "/api/v1/people": {"name": "x", "roles": ["analyst"], "groups": ["g"]},
    "/api/v1/tokens": {"scopes": ["analyst"], "note": "n"},
    "/api/v1/session": {"link": "l"},
    "/api/v1/accountant/epsilon": {"releases": ["PureDP(epsilon=1)"], "delta": 0.1},
    "/api/v1/accountant/calibrate": {
        "releases": ["Gaussian(sigma=?)"],
        "epsilon": 1.0,
        "delta": 1e-6,
    },
}
PATHS = [
    "/api/v1/jobs/{}",
    "/api/v1/jobs/{}/answer",
    "/api/v1/accounts/{}",
    "/api/v1/accounts/{}/history",
    "/api/v1/approvals/{}",
    "/api/v1/ledger/export?account={}",
    "/static/{}",
    "/{}",
]


FIELDS = [(path, name) for path, body in BODIES.items() for name in body]


@pytest.mark.parametrize(("path", "name"), FIELDS)
def test_no_text_in_any_field_is_a_fault(service: RunningService, path: str, name: str) -> None:
    client = service.client("all")
    for evil in EVIL:
        value = [evil] if isinstance(BODIES[path][name], list) else evil
        sent = json.dumps({**BODIES[path], name: value})
        answered = client.post(path, content=sent, headers={"Content-Type": "application/json"})
        assert answered.status_code < 500, answered.text
        if answered.status_code >= 400:
            assert answered.headers["content-type"] == "application/problem+json"
            assert {"type", "title", "status", "detail", "code"} <= set(answered.json())
    assert len(service.client("olga").get("/api/v1/people").json()["people"]) >= 6


@pytest.mark.parametrize("path", PATHS)
def test_no_path_is_a_fault_or_reaches_a_file(service: RunningService, path: str) -> None:
    from urllib.parse import quote

    client = service.client("all")
    for evil in EVIL:
        written = quote(evil.encode("utf-8", "surrogatepass"), safe="")[:3000]
        answered = client.get(path.format(written))
        assert 400 <= answered.status_code < 500, (evil, answered.status_code)
        assert "root:" not in answered.text


def test_a_path_that_climbs_is_not_found(service: RunningService) -> None:
    for path in (b"/../../etc/passwd", b"/static/../../../etc/passwd", b"//etc/passwd"):
        answered = _raw(
            service, b"GET " + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        assert answered.startswith(b"HTTP/1.1 404")


def test_headers_cannot_be_injected(service: RunningService) -> None:
    client = service.client("ann")
    body = {"sql": COUNT, "epsilon": 0.1, "account": "research"}
    for key in ("a b", "x" * 201, "\x7f", "é"):
        sent = {b"Idempotency-Key": key.encode()}
        answered = client.post("/api/v1/questions", json=body, headers=sent)
        assert answered.status_code in {202, 422}
        assert "set-cookie" not in answered.headers
    split = _raw(
        service,
        b"POST /api/v1/session HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\nGET /",
    )
    assert split.split(b" ")[1] in {b"400", b"422"}


def test_bodies_are_limited_however_they_come(service: RunningService) -> None:
    client, long = service.client("ann"), b"x" * 1_100_000
    assert client.post("/api/v1/preview", content=long).status_code == 413

    def chunks() -> Iterator[bytes]:
        for _ in range(1100):
            yield b"x" * 1000

    assert client.post("/api/v1/preview", content=chunks()).status_code == 413
    assert service.client().post("/api/v1/session", content=long).status_code == 413
    deep = b"[" * 100_000
    sent = {"Content-Type": "application/json"}
    assert client.post("/api/v1/preview", content=deep, headers=sent).status_code in {400, 422}
    huge = b'{"sql": "SELECT 1", "epsilon": 1e999, "rows": ' + b"9" * 5000 + b"}"
    assert client.post("/api/v1/preview", content=huge, headers=sent).status_code in {400, 422}


def test_rates_are_limited_by_address() -> None:
    from quaestor.service.limits import _Rates

    rates = _Rates(10.0)
    assert sum(rates.admits("a") for _ in range(100)) <= 21
    assert rates.admits("b")
    for number in range(20_000):
        rates.admits(str(number))
    assert len(rates._buckets) <= 10_000


def test_the_log_holds_no_token_no_question_and_no_answer(service: RunningService) -> None:
    question = "SELECT COUNT(*) AS very_secret_alias FROM visits WHERE age > 77"
    job = service.ask("ann", question, purpose="a purpose of mine")
    service.client("ann").get("/api/v1/jobs/secret-in-the-path?secret=query")
    service.client().get("/api/v1/jobs", headers={"Authorization": "Bearer qst_guessed"})
    service.client("ann").post("/api/v1/preview", content=b"secret body")
    link = service.client("olga").post("/api/v1/people/ann/links").json()["link"]
    service.client().get(link)
    written = service.log.read_text(encoding="utf-8")
    for kept in (
        *("very_secret_alias", "> 77", "a purpose", "secret-in-the-path", "secret=query"),
        *("qst_", "qsl_", "secret body", job["id"]),
    ):
        assert kept not in written, kept
    for line in written.splitlines():
        if line.startswith("{"):
            assert set(json.loads(line)) <= {
                *("time", "level", "event", "method", "route", "status", "milliseconds", "person"),
                *("kind", "place", "job", "left", "words", "logger"),
            }


def test_metrics_have_no_figure_per_question(service: RunningService) -> None:
    job = service.ask("ann", COUNT)
    text = service.client("udo").get("/metrics").text
    assert job["id"] not in text
    assert 'route="/api/v1/jobs/{job}"' in text
    assert "seconds_sum" not in text


def test_every_answer_says_what_browsers_must_not_do(service: RunningService) -> None:
    for path in ("/health", "/nothing", "/api/v1/datasets", "/sign-in"):
        headers = service.client("ann").get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers


def _raw(service: RunningService, request: bytes) -> bytes:
    parts = urlsplit(service.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as one:
        one.sendall(request)
        answer = b""
        while part := one.recv(65536):
            answer += part
    return answer
