"""The pages in a real browser: asking, budgets, who sees what, and nothing that becomes markup."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import quaestor.service
from quaestor.curator import Curator
from tests.curator.hospital import write_hospital
from tests.service.browsers import started_browser, visitor
from tests.service.running import ACCOUNTS, COUNT, RunningService, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from playwright.sync_api import Browser

    from tests.service.browsers import Visitor

EVIL = "<img src=x onerror=alert(1)>"
COLUMNS = f"""
patient = "integer"
ward = {{ kind = "text", keys = ["A", "B", "C", "{EVIL}"] }}
age = {{ kind = "integer", low = 0, high = 120 }}
"""
WARDS = "SELECT ward, COUNT(*) AS n, AVG(age) AS mean FROM visits GROUP BY ward"
COMMENTED = f"{WARDS} /* {EVIL} */"
PATHS = (
    *(
        "/ask",
        "/ask/several",
        "/answers",
        "/budget",
        "/budget/research",
        "/budget/shared",
        "/datasets",
    ),
    *("/approvals", "/ledger?check=yes", "/people", "/tokens", "/accountant", "/nothing"),
)
LINK = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service whose every text that people write tries to be markup."""
    catalog = write_hospital(tmp_path_factory.mktemp("pages"), ACCOUNTS, columns=COLUMNS)
    with Curator.from_file(catalog) as curator:
        for plan in curator.catalog.accounts:
            curator.open_account(plan.name)
        curator.ledger.people.add(EVIL, roles=["analyst"], groups=[EVIL], by="test")
    with running(catalog, "--time-step", "0.05", "--rate", "100000") as started:
        for person in ("ann", "all"):
            started.ask(person, COMMENTED, purpose=EVIL, epsilon=5.0)
        started.ask("bob", COUNT, account="shared", purpose="what bob wants to know")
        sent = {"sql": COUNT, "epsilon": 0.5, "account": "careful", "purpose": EVIL}
        assert started.client("ann").post("/api/v1/approvals", json=sent).is_success
        assert (
            started.client("olga").post("/api/v1/people/all/tokens", json={"note": EVIL}).is_success
        )
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests here."""
    with started_browser() as started:
        yield started


def _signed_in(service: RunningService, person: str) -> httpx.Client:
    link = service.client("olga").post(f"/api/v1/people/{person}/links").json()["link"]
    client = service.client()
    client.headers.update(LINK)
    assert client.post("/sign-in", data={"link": link.partition("link=")[2]}).status_code == 303
    return client


def _token_in(page: str) -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', page)
    assert found is not None
    return found[1]


def test_a_new_person_asks_by_the_form_and_sees_table_chart_and_burn_down(
    service: RunningService, browser: Browser
) -> None:
    with visitor(browser, service, "ann") as ann:
        page = ann.page
        assert page.url.endswith("/ask")
        page.get_by_label("By group").or_(page.get_by_label("ward")).first.check()
        page.get_by_role("button", name="Write the SQL").click()
        assert "GROUP BY ward" in page.get_by_label("Question").input_value()
        price = page.locator("#price strong").nth(1)
        before = price.inner_text()
        assert before.startswith("ε ")
        page.get_by_role("slider").focus()
        page.keyboard.press("ArrowLeft")  # more accurate, and dearer
        page.wait_for_function(
            "before => document.querySelectorAll('#price strong')[1].innerText !== before",
            arg=before,
        )
        assert float(price.inner_text()[2:]) > float(before[2:])
        assert page.locator("#price svg.region, #price svg .region").count()
        page.get_by_role("button", name="Dry run").click()
        assert "made up from the catalog" in page.inner_text("main")
        page.get_by_role("button", name="Ask and pay").click()
        page.wait_for_selector("td")
        assert "/answers/" in page.url
        assert page.locator("tbody tr").count() == 4
        assert page.locator("svg .bar").count() >= 3
        with page.expect_download() as csv:
            page.get_by_role("link", name="CSV").click()
        assert Path(csv.value.path()).read_text(encoding="utf-8").startswith("ward,rows")
        ann.visit("/budget/research")
        page.wait_for_selector("#plot-left canvas")
        page.get_by_text("As a table").click()
        assert page.get_by_role("group", name="Budget left, as a table").locator("tr").count() >= 3
        assert ann.complaints == []


@pytest.fixture(scope="module")
def everybody(service: RunningService, browser: Browser) -> Iterator[Visitor]:
    """Somebody with every role, who signs in once and reads all pages."""
    with visitor(browser, service, "all") as reader:
        yield reader


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_accessible_in_light_and_dark_and_fits_a_phone(
    everybody: Visitor, path: str
) -> None:
    everybody.complaints.clear()
    everybody.page.emulate_media(color_scheme="light")
    everybody.page.set_viewport_size({"width": 1280, "height": 900})
    page = everybody.visit(path)
    assert everybody.axe() == []
    page.emulate_media(color_scheme="dark")
    assert everybody.axe() == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert everybody.too_wide() == 0
    assert everybody.axe() == []
    complaints = [each for each in everybody.complaints if "404" not in each]
    assert complaints == []  # of the policy above all


def test_pages_are_read_and_questions_asked_without_a_script(
    service: RunningService, browser: Browser
) -> None:
    with visitor(browser, service, "ann", java_script_enabled=False) as ann:
        page = ann.page
        page.fill("#sql", COUNT + " WHERE age > 33")
        page.get_by_role("button", name="Show the price (free)").click()
        assert "Nothing is charged yet" in page.inner_text("#price")
        page.get_by_role("button", name="Ask and pay").click()
        page.wait_for_selector("tbody td", timeout=60_000)  # the page asks again by itself
        ann.visit("/budget/research")
        assert page.locator("svg polyline").first.is_visible()
        page.get_by_text("As a table").click()
        assert page.get_by_role("group", name="Budget left, as a table").is_visible()


SEVERAL = f"{WARDS};\n{COUNT} WHERE ward <> 'x;y'; -- and so on;\nSELECT patient FROM visits;"


@pytest.mark.parametrize("script", [True, False])
def test_several_questions_are_priced_asked_and_followed_on_one_page(
    service: RunningService,
    browser: Browser,
    script: bool,  # noqa: FBT001
) -> None:
    with visitor(browser, service, "bob", java_script_enabled=script) as bob:
        page = bob.page
        page.get_by_role("link", name="several questions at once").click()
        page.fill("#sql", SEVERAL)
        page.get_by_label("price in ε").check()
        page.fill("#epsilon", "0.3" if script else "0.4")
        page.get_by_role("button", name="Show the prices").click()
        prices = page.locator("tbody tr")
        assert prices.count() == 3
        assert ["fits" in row for row in prices.all_inner_texts()] == [True, True, False]
        assert not script or bob.axe() == []
        page.get_by_role("button", name="Ask all and pay").click()
        page.get_by_role("heading", name="Answers to several").wait_for(timeout=60_000)
        states = page.locator("tbody td:last-child").all_inner_texts()
        assert states[:2] == ["answered", "answered"]
        assert states[2].startswith("refused: ")
        assert not script or bob.axe() == []
        page.get_by_role("link", name="SELECT ward").click()
        assert page.locator("tbody tr").count() >= 4
        assert bob.complaints == []


def test_several_questions_are_sent_once_seen_by_nobody_else_and_never_markup(
    service: RunningService,
) -> None:
    client = _signed_in(service, "ann")
    page = client.get("/ask/several").text
    nonce = re.search(r'name="nonce" value="([^"]+)"', page)
    assert nonce is not None
    form = {"csrf_token": _token_in(page), "nonce": nonce[1], "action": "ask", "anew": "yes"}
    form |= {"sql": f"{COUNT}; {COMMENTED}", "account": "research", "by": "epsilon"}
    form["epsilon"] = "0.2"
    first, second = (client.post("/ask/several", data=form).headers["location"] for _ in range(2))
    assert first == second
    assert EVIL not in client.get(first).text
    bob = _signed_in(service, "bob")
    assert bob.get(first).status_code == 404
    stolen = {"csrf_token": _token_in(bob.get("/ask").text)}
    assert bob.post(f"{first}/cancel", data=stolen).status_code == 404
    assert client.post(f"{first}/cancel", data=form).status_code == 303
    del form["csrf_token"]
    assert client.post("/ask/several", data=form).status_code == 403
    form["csrf_token"] = _token_in(page)
    for sql in (" ; ;", ";".join([COUNT] * 33), "x" * 200_001, f"'{EVIL}"):
        refused = client.post("/ask/several", data={**form, "sql": sql, "action": "preview"})
        assert refused.status_code == (200 if EVIL in sql else 422)
        assert EVIL not in refused.text
    plan = {**form, "account": "careful", "action": "submit"}
    assert client.post("/ask/several", data=plan).headers["location"] == "/approvals"


def test_somebody_else_cannot_see_what_they_must_not(service: RunningService) -> None:
    job = service.ask("ann", COUNT + " WHERE age > 44", purpose="a secret of ann's")
    bob, ann = _signed_in(service, "bob"), _signed_in(service, "ann")
    assert "a secret of ann" in ann.get(f"/answers/{job['id']}").text
    assert bob.get(f"/answers/{job['id']}").status_code == 404
    for path in ("/answers", "/budget", "/budget/research", "/budget/shared", "/approvals"):
        assert "a secret of ann" not in bob.get(path).text
    assert "what bob wants to know" not in ann.get("/budget/shared").text
    assert "what bob wants to know" in _signed_in(service, "udo").get("/budget/shared").text
    assert "By analyst" not in ann.get("/budget/shared").text
    for path in ("/ledger", "/people"):
        refused = ann.get(path)
        assert refused.status_code == 403
        assert "Not allowed" in refused.text
        assert f'href="{path}"' not in ann.get("/budget").text
    assert _signed_in(service, "udo").get("/ask").status_code == 403


def test_nothing_that_people_write_becomes_markup(service: RunningService) -> None:
    client, found = _signed_in(service, "all"), 0
    job = service.client("all").get("/api/v1/jobs").json()["jobs"][-1]
    for path in (*PATHS, f"/answers/{job['id']}"):
        text = client.get(path).text
        assert EVIL not in text, path
        found += "&lt;img src=x onerror" in text
    assert found >= 8
    page = client.get("/ask").text
    sent = {"csrf_token": _token_in(page), "sql": EVIL, "account": EVIL, "within": EVIL}
    for path in ("/ask", "/ask/preview", "/accountant"):
        answered = client.post(path, data={**sent, "releases": EVIL, "delta": EVIL})
        assert answered.status_code < 500
        assert EVIL not in answered.text


def test_forms_without_the_pages_token_change_nothing(service: RunningService) -> None:
    client = _signed_in(service, "all")
    forms = {
        "/ask": {"action": "ask", "sql": COUNT, "account": "research", "within": "50"},
        "/people": {"name": "mallory", "roles": "owner"},
        "/people/ann": {"action": "deactivate"},
        "/tokens": {"note": "stolen"},
        "/approvals/careful/x": {"decision": "approve"},
        "/sign-out": {},
    }
    for path, form in forms.items():
        refused = client.post(path, data=form)
        assert refused.status_code == 403, path
        assert "csrf_token" in refused.text
    assert client.get("/budget").status_code == 200


def test_pages_name_nobody_else_who_has_a_quota(service: RunningService) -> None:
    with service.ledger() as ledger:
        ledger.people.add("anna", roles=["analyst"], by="test")
    client = _signed_in(service, "anna")
    form = {"csrf_token": _token_in(client.get("/ask").text), "account": "shared", "sql": COUNT}
    for path, action in (("/ask", "preview"), ("/ask", "dry-run"), ("/ask/preview", "")):
        said = client.post(path, data={**form, "within": "9", "action": action}).text
        assert "has no quota for analyst" in said
        assert "did you mean" not in said


def test_releases_are_composed_by_the_form_of_the_accountant(service: RunningService) -> None:
    client = _signed_in(service, "ann")
    form = {"csrf_token": _token_in(client.get("/accountant").text), "delta": "1e-6"}
    composed = client.post("/accountant", data={**form, "releases": "PureDP(epsilon=0.5) * 2"})
    assert composed.status_code == 200
    assert "tightest" in composed.text
    assert client.post("/accountant", data={**form, "releases": "Gauss("}).status_code == 422


def test_a_question_that_is_sent_twice_is_one_job(service: RunningService) -> None:
    client = _signed_in(service, "ann")
    page = client.get("/ask").text
    nonce = re.search(r'name="nonce" value="([^"]+)"', page)
    assert nonce is not None
    form = {"csrf_token": _token_in(page), "nonce": nonce[1], "action": "ask", "anew": "yes"}
    form |= {"sql": COUNT, "account": "research", "by": "epsilon", "epsilon": "0.2"}
    first, second = (client.post("/ask", data=form).headers["location"] for _ in range(2))
    assert first == second
    assert client.post("/ask", data={**form, "epsilon": "0.3"}).headers["location"] != first


def test_owners_manage_people_on_pages_and_secrets_are_shown_once(service: RunningService) -> None:
    owner = _signed_in(service, "olga")
    token = {"csrf_token": _token_in(owner.get("/people").text)}
    added = {**token, "name": "nina", "roles": ["analyst", "auditor"], "groups": "one, two"}
    assert owner.post("/people", data=added).status_code == 303
    shown = owner.post("/people/nina", data={**token, "action": "token", "days": "1"}).text
    secret = re.search(r'id="secret">(qst_[^<]+)<', shown)
    assert secret is not None
    assert secret[1] not in owner.get("/people").text
    service.tokens["nina"] = secret[1]
    mine = service.client("nina")
    assert mine.get("/api/v1/session").json()["groups"] == ["one", "two"]
    assert owner.post("/people/nina", data={**token, "action": "deactivate"}).status_code == 303
    assert mine.get("/api/v1/session").status_code == 401


def test_what_needs_approval_is_asked_submitted_approved_and_answered_on_pages(
    service: RunningService,
) -> None:
    bob, petra = _signed_in(service, "bob"), _signed_in(service, "petra")
    form = {"csrf_token": _token_in(bob.get("/ask").text), "account": "careful"}
    form |= {"sql": COUNT, "by": "epsilon", "epsilon": "0.25"}
    place = bob.post("/ask", data={**form, "action": "ask"}).headers["location"]
    service.waited("bob", place.rpartition("/")[2])
    assert "Submit for approval" in bob.get(place).text
    assert bob.post("/ask", data={**form, "action": "submit"}).headers["location"] == "/approvals"
    made = service.client("bob").get("/api/v1/approvals/careful").json()["approvals"][-1]["id"]
    decided = {"csrf_token": _token_in(petra.get("/approvals").text), "decision": "approve"}
    assert petra.post(f"/approvals/careful/{made}", data=decided).status_code == 303
    assert f"Ask with approval {made}" in bob.get(place).text
    again = bob.post("/ask", data={**form, "action": "ask", "approval": made})
    job = service.waited("bob", again.headers["location"].rpartition("/")[2])
    assert job["state"] == "answered"


def test_browsers_are_sent_to_sign_in_and_come_back_here_and_nowhere_else(
    service: RunningService,
) -> None:
    client = service.client()
    away = client.get("/budget/research", headers=LINK)
    assert (away.status_code, away.headers["location"]) == (303, "/sign-in?next=/budget/research")
    odd = ("/\\evil.example", "javascript:1", "/.//evil.example", "/a/..//evil.example")
    for place in ("//evil.example", "https://evil.example", *odd):
        assert "evil" not in client.get("/sign-in", params={"next": place}).text
        link = service.client("olga").post("/api/v1/people/ann/links").json()["link"]
        sent = {"link": link.partition("link=")[2], "next": place}
        assert service.client().post("/sign-in", data=sent).headers["location"] == "/"


def test_every_page_has_a_policy_without_exceptions(service: RunningService) -> None:
    client = _signed_in(service, "all")
    for path in PATHS:
        answered = client.get(path)
        policy = answered.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "style=" not in answered.text
        assert not re.search(r"<script(?! src=\"/static/)", answered.text)
        assert not re.search(r"\son\w+=", answered.text.replace("&lt;img src=x onerror=", ""))
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//", answered.text)


@pytest.mark.parametrize(
    "folder",
    [
        Path(quaestor.service.__file__).parent / "static" / "vendor",
        Path(__file__).parent / "vendor",
    ],
    ids=["pages", "tests"],
)
def test_bundles_are_those_that_are_listed(folder: Path) -> None:
    lines = (folder / "VERSIONS.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")][2:]
    listed = {row[0]: row[-1] for row in rows}
    found = {file.name for file in folder.iterdir() if file.suffix in {".js", ".css"}}
    assert found == set(listed)
    for name, sum_ in listed.items():
        assert sha256((folder / name).read_bytes()).hexdigest() == sum_
