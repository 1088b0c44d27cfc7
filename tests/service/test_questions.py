"""Questions over HTTP: previews, jobs, answers, keys, cancelling, and whose all of that is."""

from __future__ import annotations

import io
import json
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from quaestor.curator import Answer
from tests.service.running import COUNT, RunningService, made_hospital, running

if TYPE_CHECKING:
    from collections.abc import Iterator

WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def on_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningService]:
    """A service on each store."""
    database: str | None = None
    if request.param == "postgres":
        import psycopg

        address: str = request.getfixturevalue("postgres_address")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE DATABASE service_questions")
        database = address.replace("/postgres?", "/service_questions?")
    catalog = made_hospital(tmp_path_factory.mktemp("questions"), database=database)
    with running(catalog, "--time-step", "0.05", "--rate", "100000") as started:
        yield started


def test_a_question_is_previewed_asked_and_answered(on_store: RunningService) -> None:
    client = on_store.client("ann")
    body = {"sql": WARDS, "epsilon": 50.0, "account": "research"}
    seen = client.post("/api/v1/preview", json=body).json()
    assert seen["fits"]
    assert not seen["free"]
    asked = client.post("/api/v1/questions", json=body, headers={"Idempotency-Key": "one"})
    assert asked.status_code == 202
    place = asked.headers["Location"]
    job = on_store.waited("ann", asked.json()["id"])
    assert job["state"] == "answered"
    assert job["charged"]
    answer = client.get(f"{place}/answer")
    read = Answer.from_json(json.dumps({k: v for k, v in answer.json().items() if k != "repeated"}))
    assert [row["ward"] for row in read.rows()] == ["A", "B", "C"]
    assert abs(sum(int(str(row["n"])) for row in read.rows()) - 450) < 30
    assert client.post("/api/v1/preview", json=body).json()["free"]


def test_an_answer_comes_as_json_csv_and_arrow(on_store: RunningService) -> None:
    job = on_store.ask("ann", WARDS, epsilon=1.0)
    client, place = on_store.client("ann"), job["links"]["answer"]
    table = pa.ipc.open_stream(
        io.BytesIO(
            client.get(place, headers={"Accept": "application/vnd.apache.arrow.stream"}).content
        )
    ).read_all()
    lines = client.get(place, params={"form": "csv"}).text.splitlines()
    assert table.column("ward").to_pylist() == ["A", "B", "C"]
    assert len(lines) == 4
    assert client.get(place).json()["columns"][0]["values"] == ["A", "B", "C"]


def test_the_same_key_is_the_same_job_and_one_charge(on_store: RunningService) -> None:
    client, key = on_store.client("ann"), {"Idempotency-Key": "again"}
    body = {"sql": COUNT, "epsilon": 0.25, "account": "research", "anew": True}
    with on_store.ledger() as ledger:
        before = len(list(ledger.account("research").entries()))
    first = client.post("/api/v1/questions", json=body, headers=key).json()
    second = client.post("/api/v1/questions", json=body, headers=key).json()
    assert first["id"] == second["id"]
    on_store.waited("ann", first["id"])
    third = client.post("/api/v1/questions", json=body, headers=key).json()
    assert third["state"] == "answered"
    with on_store.ledger() as ledger:
        assert len(list(ledger.account("research").entries())) == before + 1
    other = client.post("/api/v1/questions", json={**body, "epsilon": 0.3}, headers=key)
    assert other.status_code == 409
    assert other.json()["code"] == "key_reused"
    assert (
        on_store.client("bob").post("/api/v1/questions", json=body, headers=key).json()["id"]
        != first["id"]
    )


def test_who_asks_is_who_has_the_token_whatever_is_sent(on_store: RunningService) -> None:
    client = on_store.client("ann")
    for name in ("analyst", "member_of", "groups_of"):
        sent = {"sql": COUNT, "epsilon": 0.1, "account": "research", name: "bob"}
        assert client.post("/api/v1/questions", json=sent).status_code == 422
    on_store.ask("ann", COUNT + " WHERE age > 30", account="shared", epsilon=0.5)
    with on_store.ledger() as ledger:
        assert {e.analyst for e in ledger.account("shared").entries()} == {"ann"}


def test_a_job_is_seen_by_whoever_asked_and_by_nobody_else(on_store: RunningService) -> None:
    job = on_store.ask("ann", COUNT)
    for path in (job["links"]["self"], job["links"]["answer"], job["links"]["events"]):
        assert on_store.client("bob").get(path).status_code == 404
        assert on_store.client("all").get(path).status_code == 404
    assert on_store.client("bob").delete(job["links"]["self"]).status_code == 404


def test_with_quotas_answers_and_totals_are_ones_own(on_store: RunningService) -> None:
    question = COUNT + " WHERE age > 50"
    ann = on_store.ask("ann", question, account="shared", epsilon=2.0)
    preview = {"sql": question, "epsilon": 2.0, "account": "shared"}
    assert on_store.client("ann").post("/api/v1/preview", json=preview).json()["free"]
    assert not on_store.client("bob").post("/api/v1/preview", json=preview).json()["free"]
    bob = on_store.ask("bob", question, account="shared", epsilon=2.0)
    assert ann["charged"]
    assert bob["charged"]
    assert not bob["repeated"]
    seen = on_store.client("bob").get("/api/v1/accounts/shared").json()
    assert seen["of"] == "bob"
    assert {each["analyst"] for each in seen["meters"]} == {"bob"}
    quota = on_store.client("bob").get("/api/v1/accounts/shared/quota").json()
    assert {each["analyst"] for each in quota["meters"]} == {"bob"}
    entries = on_store.client("bob").get("/api/v1/accounts/shared/entries").json()["entries"]
    assert [(each["number"], each["analyst"]) for each in entries] == [(1, "bob")]
    history = on_store.client("bob").get("/api/v1/accounts/shared/history").json()
    assert history["analyst"] == "bob"
    assert len(on_store.client("udo").get("/api/v1/accounts/shared/entries").json()["entries"]) > 1


def test_whoever_has_no_quota_sees_nothing_of_the_account(on_store: RunningService) -> None:
    with on_store.ledger() as ledger:
        if "eve" not in {each.name for each in ledger.people.all()}:
            ledger.people.add("eve", roles=["analyst"], by="test")
        on_store.tokens["eve"] = ledger.people.create_token("eve", by="test")[1]
    client = on_store.client("eve")
    names = [each["name"] for each in client.get("/api/v1/accounts").json()["accounts"]]
    assert names == ["careful", "research"]
    for path in ("", "/history", "/quota"):
        assert client.get(f"/api/v1/accounts/shared{path}").status_code in {403, 404}


def test_a_refusal_is_a_problem_with_our_code_and_nothing_is_charged(
    on_store: RunningService,
) -> None:
    job = on_store.ask("ann", COUNT, epsilon=5000.0)
    assert job["state"] == "refused"
    assert not job["charged"]
    assert job["problem"]["code"] == "budget_exceeded"
    answer = on_store.client("ann").get(job["links"]["answer"])
    assert answer.status_code == 409
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["remaining"] is not None
    wrong = on_store.ask("ann", "SELECT patient FROM visits")
    assert wrong["state"] == "refused"
    assert wrong["problem"]["code"] == "refused_query"


def test_what_needs_approval_is_submitted_approved_by_somebody_else_and_asked_once(
    on_store: RunningService,
) -> None:
    body: dict[str, Any] = {"sql": COUNT, "epsilon": 0.5, "account": "careful"}
    assert on_store.ask("ann", **body)["problem"]["code"] == "approval_needed"
    made = on_store.client("ann").post("/api/v1/approvals", json=body).json()
    place, decision = f"/api/v1/approvals/careful/{made['approval']}", {"decision": "approve"}
    assert on_store.client("ann").post(place, json=decision).status_code == 403
    assert on_store.client("bob").get("/api/v1/approvals/careful").json()["approvals"] == []
    assert on_store.client("petra").post(place, json=decision).status_code == 200
    job = on_store.ask("ann", **body, approval=made["approval"])
    assert job["state"] == "answered"
    again = on_store.ask("ann", **body, approval=made["approval"], anew=True)
    assert again["state"] == "refused"


def test_progress_is_a_stream_of_phases(on_store: RunningService) -> None:
    client = on_store.client("ann")
    body = {"sql": COUNT, "epsilon": 0.125, "account": "research"}
    asked = client.post("/api/v1/questions", json=body).json()
    with client.stream("GET", asked["links"]["events"]) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        said = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    assert said[-1]["state"] == "answered"
    assert {each["phase"] for each in said} <= {
        *("queued", "waiting", "planning", "computing", "answered"),
    }
    assert all(set(each) == {"id", "state", "phase"} for each in said)


def test_a_finished_job_stays_as_it_is_when_it_is_cancelled(on_store: RunningService) -> None:
    job = on_store.ask("ann", COUNT)
    assert on_store.client("ann").delete(job["links"]["self"]).json()["state"] == "answered"


def test_the_ledger_verifies_and_is_exported(on_store: RunningService) -> None:
    client = on_store.client("udo")
    assert client.get("/api/v1/ledger/verification").status_code == 200
    assert client.get("/api/v1/ledger/pending").json() == {"pending": []}
    lines = client.get("/api/v1/ledger/export", params={"account": "research"}).text.splitlines()
    assert json.loads(lines[0])["kind"] == "opened"
    assert len(client.get("/api/v1/ledger/export", params={"form": "csv"}).text) > 1000
    assert client.get("/api/v1/ledger/heads").json()["heads"].keys() == {
        *("research", "shared", "careful"),
    }


def test_the_accountant_answers_as_the_library_does(on_store: RunningService) -> None:
    import quaestor as q

    client, releases = on_store.client("udo"), ["Gaussian(sigma=50) * 100"]
    bounds = q.compose(q.Gaussian(sigma=50.0) * 100).epsilon_bounds(delta=1e-6)
    sent = {"releases": releases, "delta": 1e-6}
    found = client.post("/api/v1/accountant/epsilon", json=sent).json()
    assert found["epsilon"] == {"lower": bounds.lower, "upper": bounds.upper}
    assert client.post("/api/v1/accountant/explain", json=sent).json()["rows"]
    assert client.post("/api/v1/accountant/region", json={"releases": releases}).json()["vertices"]
    assert client.post("/api/v1/accountant/delta", json={"releases": releases, "epsilon": 1}).json()
    target = {"releases": ["Gaussian(sigma=?)"], "epsilon": 1.0, "delta": 1e-6}
    assert client.post("/api/v1/accountant/calibrate", json=target).json()["parameter"] == "sigma"
    wrong = client.post("/api/v1/accountant/epsilon", json={"releases": ["Gauss("], "delta": 0.1})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_expression")


def test_an_analyst_has_a_limited_number_of_unfinished_questions(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    catalog = made_hospital(tmp_path_factory.mktemp("limited"))
    with running(catalog, "--time-step", "600", "--most-jobs", "2", "--grace", "0") as service:
        client = service.client("ann")
        bodies = [{"sql": COUNT, "epsilon": 0.1 * n, "account": "research"} for n in (1, 2, 3)]
        answers = [client.post("/api/v1/questions", json=body) for body in bodies]
        assert [each.status_code for each in answers] == [202, 202, 429]
        assert answers[2].json()["code"] == "too_many_jobs"
        assert "Retry-After" in answers[2].headers
        deadline = time.monotonic() + 60
        while not client.get(answers[0].headers["Location"]).json()["charged"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        cancelled = client.delete(answers[0].headers["Location"]).json()
        assert cancelled["state"] == "cancelled"
        assert cancelled["charged"]
        assert client.post("/api/v1/questions", json=bodies[2]).status_code == 202
        service.kill()
