"""Single sign-on against a real provider, in a real service: who is let in, and who is not."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.service.identity_provider_server import SECRET, oidc_provider, typed_in
from tests.service.running import RunningService, free_port, made_hospital, running

if TYPE_CHECKING:
    from collections.abc import Iterator

CALLBACK = "/sign-in/oidc/callback"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service whose catalog names a provider."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with oidc_provider(address + CALLBACK) as issuer:
        catalog = made_hospital(tmp_path_factory.mktemp("single"))
        with catalog.open("a", encoding="utf-8") as file:
            file.write(
                f'[service.oidc]\nissuer = "{issuer}"\nclient = "quaestor"\n'
                f'environment = "TEST_OIDC_SECRET"\naddress = "{address}"\nname = "the clinic"\n'
            )
        os.environ["TEST_OIDC_SECRET"] = SECRET
        options = ("--time-step", "0.05", "--rate", "100000")
        with running(catalog, *options, port=port) as started:
            owner = started.client("olga")
            linked = owner.post("/api/v1/people/ann/identities", json={"subject": "ann-at-idp"})
            assert linked.status_code == 201, linked.text
            yield started


def _arrived(service: RunningService, browser: httpx.Client, login: str) -> httpx.Response:
    """Sign in at the provider as somebody, and come back."""
    begun = browser.get("/sign-in/oidc")
    assert begun.status_code == 303, begun.text
    there = begun.headers["location"]
    for part in ("code_challenge_method=S256", "state=", "nonce=", "response_type=code"):
        assert part in there
    return browser.get(typed_in(there, login=login, redirect=service.url + CALLBACK))


def _who(browser: httpx.Client) -> Any:
    answered = browser.get("/api/v1/session")
    return answered.json().get("name") if answered.is_success else answered.status_code


def _trail(service: RunningService) -> list[dict[str, Any]]:
    found = service.client("udo").get("/api/v1/ledger/trail", params={"most": 1000}).json()
    listed: list[dict[str, Any]] = found["trail"]
    return listed


def test_a_linked_subject_signs_in_with_a_new_session(service: RunningService) -> None:
    with service.ledger() as ledger:
        other = ledger.people.create_link("bob", by="test")
    browser = service.client()
    browser.post("/sign-in", data={"link": other})
    fixed = browser.cookies["quaestor_session"]
    answered = _arrived(service, browser, "ann-at-idp")
    assert answered.status_code == 200, answered.text
    assert answered.headers["content-security-policy"].startswith("default-src 'none'")
    assert _who(browser) == "ann"
    assert browser.cookies["quaestor_session"] != fixed
    assert "quaestor_oidc" not in browser.cookies
    before = service.client()
    before.cookies.set("quaestor_session", fixed)
    assert _who(before) == 401  # the session that the browser came with is over
    (event,) = [e for e in _trail(service) if "identity provider" in e["detail"]]
    assert (event["kind"], event["subject"]) == ("signed_in", "ann")


def test_a_verified_address_is_good_for_one_subject(service: RunningService) -> None:
    owner = service.client("olga")
    sent = {"email": "bob@example.org"}
    assert owner.post("/api/v1/people/bob/identities", json=sent).status_code == 201
    browser = service.client()
    assert _arrived(service, browser, "bob-1").status_code == 200
    assert _who(browser) == "bob"
    again = service.client()
    assert _arrived(service, again, "bob-1").status_code == 200
    later = service.client()  # somebody who got the address afterwards
    assert _arrived(service, later, "bob-2").status_code == 401
    assert _who(later) == 401
    listed = owner.get("/api/v1/people/bob/identities").json()["identities"]
    assert {(each["note"].split()[1], bool(each["ended"])) for each in listed} == {
        ("bob@example.org", True),
        ("bob-1", False),
    }
    (linked,) = [each for each in listed if not each["ended"]]
    assert owner.delete(f"/api/v1/people/bob/identities/{linked['id']}").status_code == 204
    assert _arrived(service, service.client(), "bob-1").status_code == 401
    assert owner.post("/api/v1/people/bob/identities", json=sent).status_code == 201
    assert _arrived(service, service.client(), "bob-1").status_code == 200


def test_an_address_that_is_not_verified_and_a_stranger_get_nothing(
    service: RunningService,
) -> None:
    owner = service.client("olga")
    sent = {"email": "ann@example.org"}
    assert owner.post("/api/v1/people/ann/identities", json=sent).status_code == 201
    for login in ("mallory", "ann", "<script>alert(1)</script>"):
        browser = service.client()
        answered = _arrived(service, browser, login)
        assert answered.status_code == 401
        assert "ask an owner to link it" in answered.text
        assert "<script" not in answered.text
        assert _who(browser) == 401
    failed = [e for e in _trail(service) if e["kind"] == "sign_in_failed"]
    assert any("mallory" in e["subject"] for e in failed)


def test_what_comes_back_is_for_the_browser_that_set_out(service: RunningService) -> None:
    mine = service.client()
    there = mine.get("/sign-in/oidc").headers["location"]
    back = typed_in(there, login="ann-at-idp", redirect=service.url + CALLBACK)
    others = service.client()
    assert others.get(back).status_code == 401  # whoever is sent the link has no cookie
    others.get("/sign-in/oidc")
    assert others.get(back).status_code == 401  # or another one
    assert _who(others) == 401
    kept = mine.cookies["quaestor_oidc"]
    assert mine.get(back.replace("state=", "state=x")).status_code == 401
    assert "quaestor_oidc" not in mine.cookies
    mine.cookies.set("quaestor_oidc", kept)
    assert mine.get(back).status_code == 200
    replayed = service.client()
    replayed.cookies.set("quaestor_oidc", kept)
    assert replayed.get(back).status_code == 401  # the provider knows the code
    assert _who(replayed) == 401


def test_an_answer_without_a_code_or_of_another_issuer_is_refused(service: RunningService) -> None:
    for change in ("error=access_denied", "iss=https%3A%2F%2Fevil.example&code=x", ""):
        browser = service.client()
        there = httpx.URL(browser.get("/sign-in/oidc").headers["location"])
        back = f"{CALLBACK}?state={there.params['state']}&{change}"
        answered = browser.get(back)
        assert answered.status_code == 401
        assert _who(browser) == 401


def test_the_log_holds_no_code_and_no_state(service: RunningService) -> None:
    written = service.log.read_text(encoding="utf-8")
    for kept in ("code=", "state=", SECRET, "qss_", "ann-at-idp"):
        assert kept not in written


def test_chromium_comes_back_from_another_site_signed_in(service: RunningService) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.goto(f"{service.url}/sign-in/oidc")
        page.fill("input[name=login]", "ann-at-idp")
        page.fill("input[name=password]", "any")
        page.click("button[type=submit]")
        with page.expect_request(f"{service.url}/") as first:
            page.click("button[type=submit]")  # what the provider may tell
        sent = first.value.all_headers()
        said = page.context.request.get(f"{service.url}/api/v1/session").json()
        browser.close()
    assert "quaestor_session=" in sent["cookie"]
    assert said["name"] == "ann"
