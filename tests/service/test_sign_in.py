"""Browsers: links, passwords, cookies, CSRF, fixation and throttling; and pages that escape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from tests.service.running import COUNT, RunningService, made_hospital, running

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "a long enough password"  # noqa: S105


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """One of its own: failed sign-ins of other tests are counted too."""
    catalog = made_hospital(tmp_path_factory.mktemp("signing"))
    with running(catalog, "--time-step", "0.05", "--rate", "100000") as started:
        yield started


def _browser(service: RunningService) -> httpx.Client:
    return service.client()


def _link(service: RunningService, person: str) -> str:
    made = service.client("olga").post(f"/api/v1/people/{person}/links")
    assert made.status_code == 201
    return str(made.json()["link"]).partition("link=")[2]


def test_a_link_is_used_when_the_form_is_sent_and_once(service: RunningService) -> None:
    link, browser = _link(service, "ann"), _browser(service)
    for _ in range(2):  # looking at the page, as scanners of mail do, uses nothing up
        assert "<form" in browser.get("/sign-in", params={"link": link}).text
    answered = browser.post("/sign-in", data={"link": link})
    assert (answered.status_code, answered.headers["location"]) == (303, "/")
    cookie = answered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie
    assert browser.get("/api/v1/session").json()["name"] == "ann"
    assert _browser(service).post("/sign-in", data={"link": link}).status_code == 401


def test_a_cookie_is_secure_unless_it_stays_on_this_machine(service: RunningService) -> None:
    for headers in ({"Host": "data.example.org"}, {"X-Forwarded-Proto": "https"}):
        sent = {"link": _link(service, "ann")}
        answered = _browser(service).post("/api/v1/session", json=sent, headers=headers)
        assert "secure" in answered.headers["set-cookie"].lower()


def test_a_session_changes_nothing_without_the_pages_token(service: RunningService) -> None:
    browser = _browser(service)
    csrf = browser.post("/api/v1/session", json={"link": _link(service, "ann")}).json()[
        "csrf_token"
    ]
    body = {"sql": COUNT, "epsilon": 0.1, "account": "research"}
    for headers in ({}, {"X-CSRF-Token": "wrong"}, {"X-CSRF-Token": ""}):
        refused = browser.post("/api/v1/preview", json=body, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert browser.post("/api/v1/preview", json=body, headers={"X-CSRF-Token": csrf}).is_success
    other = _browser(service)
    theirs = other.post("/api/v1/session", json={"link": _link(service, "bob")}).json()[
        "csrf_token"
    ]
    assert not browser.post(
        "/api/v1/preview", json=body, headers={"X-CSRF-Token": theirs}
    ).is_success


def test_signing_in_makes_a_new_session_and_signing_out_ends_it(service: RunningService) -> None:
    browser = _browser(service)
    first = browser.post("/api/v1/session", json={"link": _link(service, "ann")})
    fixed = browser.cookies["quaestor_session"]
    second = browser.post("/api/v1/session", json={"link": _link(service, "bob")})
    assert browser.cookies["quaestor_session"] != fixed
    assert second.json()["csrf_token"] != first.json()["csrf_token"]
    headers = {"X-CSRF-Token": second.json()["csrf_token"]}
    kept = browser.cookies["quaestor_session"]
    assert browser.delete("/api/v1/session", headers=headers).status_code == 204
    old = service.client()
    old.cookies.set("quaestor_session", kept)
    assert old.get("/api/v1/session").status_code == 401


@pytest.mark.parametrize("change", ["x", "", "0"])
def test_a_cookie_that_was_changed_is_nobodys(service: RunningService, change: str) -> None:
    browser = _browser(service)
    browser.post("/api/v1/session", json={"link": _link(service, "ann")})
    cookie = browser.cookies["quaestor_session"]
    forged = service.client()
    forged.cookies.set("quaestor_session", change + cookie[1:] if change else cookie[:-1])
    assert forged.get("/api/v1/session").status_code == 401


def test_a_wrong_token_is_not_helped_by_a_right_cookie(service: RunningService) -> None:
    browser = _browser(service)
    browser.post("/api/v1/session", json={"link": _link(service, "ann")})
    answered = browser.get("/api/v1/session", headers={"Authorization": "Bearer qst_wrong"})
    assert answered.status_code == 401


def test_a_session_is_no_token_and_a_token_is_no_session(service: RunningService) -> None:
    browser = _browser(service)
    browser.post("/api/v1/session", json={"link": _link(service, "ann")})
    secret = browser.cookies["quaestor_session"].rpartition(".")[0]
    headers = {"Authorization": f"Bearer {secret}"}
    assert service.client().get("/api/v1/session", headers=headers).status_code == 401
    forged = service.client()
    forged.cookies.set("quaestor_session", service.tokens["ann"])
    assert forged.get("/api/v1/session").status_code == 401


def test_passwords_sign_in_and_guessing_is_stopped(service: RunningService) -> None:
    with service.ledger() as ledger:
        ledger.people.set_password("bob", PASSWORD, by="test")
    for name, given in (("bob", "wrong wrong wrong"), ("nobody", PASSWORD)):
        refused = service.client().post("/sign-in", data={"name": name, "password": given})
        assert refused.status_code == 401
        assert "the name or password is wrong" in refused.text
    signed = service.client().post("/sign-in", data={"name": "bob", "password": PASSWORD})
    assert signed.status_code == 303
    for _ in range(4):
        service.client().post("/api/v1/session", json={"name": "bob", "password": "x" * 12})
    right = {"name": "bob", "password": PASSWORD}
    stopped = service.client().post("/api/v1/session", json=right)
    assert stopped.status_code == 429
    assert int(stopped.headers["retry-after"]) > 0
    trail = service.client("udo").get("/api/v1/ledger/trail", params={"most": 1000}).json()["trail"]
    assert [e["kind"] for e in trail].count("sign_in_failed") >= 6


def test_nothing_that_is_sent_becomes_markup(service: RunningService) -> None:
    evil = "'><script>alert(1)</script>"
    page = service.client().get("/sign-in", params={"link": evil})
    assert "<script" not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "unsafe" not in page.headers["content-security-policy"]


def test_people_are_managed_by_owners_and_roles_end_at_once(service: RunningService) -> None:
    owner = service.client("olga")
    assert owner.post("/api/v1/people", json={"name": "zoe", "roles": ["analyst"]}).is_success
    made = owner.post("/api/v1/people/zoe/tokens", json={"days": 1}).json()
    zoe = httpx.Client(base_url=service.url, headers={"Authorization": f"Bearer {made['token']}"})
    with zoe:
        assert zoe.get("/api/v1/jobs").is_success
        stolen = zoe.post("/api/v1/tokens", json={"note": "to be kept"})
        assert (stolen.status_code, stolen.json()["code"]) == (403, "not_allowed")
        browser = _browser(service)
        signed = browser.post("/api/v1/session", json={"link": _link(service, "zoe")}).json()
        browser.headers["X-CSRF-Token"] = signed["csrf_token"]
        mine = browser.post("/api/v1/tokens", json={"note": "mine"}).json()
        assert browser.post("/api/v1/tokens", json={"scopes": ["owner"]}).status_code == 422
        assert [each["person"] for each in zoe.get("/api/v1/tokens").json()["tokens"]] == [
            "zoe",
            "zoe",
        ]
        assert service.client("bob").delete(f"/api/v1/tokens/{mine['id']}").status_code == 422
        assert owner.patch("/api/v1/people/zoe", json={"roles": ["auditor"]}).is_success
        assert zoe.get("/api/v1/jobs").status_code == 403
        assert owner.patch("/api/v1/people/zoe", json={"active": False}).is_success
        assert zoe.get("/api/v1/session").status_code == 401
