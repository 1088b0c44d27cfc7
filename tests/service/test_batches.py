"""Several questions in one request: each charged, answered or refused by itself, in fewer scans."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import quaestor as q
from quaestor.curator import Answer, PlanQuestion
from quaestor.errors import BudgetExceeded, RefusedQuery
from tests.service.running import COUNT, PATIENCE, RunningService, made_hospital, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
AGES = "SELECT ward, SUM(age) AS s FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def slow_steps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service in which no answer leaves while the test runs."""
    catalog = made_hospital(tmp_path_factory.mktemp("slow"))
    with running(catalog, "--time-step", "600", "--most-jobs", "2", "--grace", "0") as started:
        yield started
        started.kill()


def asked(*texts: str, **more: Any) -> dict[str, Any]:
    said = {"epsilon": 0.5, "account": "research", **more}
    return {"questions": [{"sql": text, **said} for text in texts]}


def over(client: httpx.Client, place: str) -> list[dict[str, Any]]:
    """The questions of a batch, once all are over."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = client.get(place).json()
        if found["state"] != "open":
            listed: list[dict[str, Any]] = found["questions"]
            return listed
        time.sleep(0.05)
    raise TimeoutError(place)


def entries(service: RunningService, account: str = "research") -> list[Any]:
    with service.ledger() as ledger:
        return list(ledger.account(account).entries())


def test_each_question_of_a_batch_is_answered_or_refused_by_itself(
    service: RunningService,
) -> None:
    client, before = service.client("ann"), len(entries(service))
    body = asked(WARDS, "SELECT patient FROM visits", AGES, WARDS, epsilon=1.25)
    body["questions"].insert(1, {"sql": COUNT, "epsilon": 5000.0, "account": "research"})
    made = client.post("/api/v1/batches", json=body)
    assert made.status_code == 202
    jobs = over(client, made.headers["Location"])
    assert [job["state"] for job in jobs] == [
        *("answered", "refused", "refused", "answered", "answered"),
    ]
    assert [(job["problem"] or {}).get("code") for job in jobs[1:3]] == [
        *("budget_exceeded", "refused_query"),
    ]
    assert [job["repeated"] for job in jobs] == [False, False, False, False, True]
    assert [job["charged"] for job in jobs] == [True, False, False, True, False]
    assert {job["batch"] for job in jobs} == {made.json()["id"]}
    assert len(entries(service)) == before + 2
    answers = [client.get(jobs[place]["links"]["answer"]).json() for place in (0, 4)]
    assert answers[0]["columns"] == answers[1]["columns"]


def test_the_same_key_is_the_same_batch_whoever_sends_it_when(service: RunningService) -> None:
    body, before = asked(WARDS, AGES, epsilon=0.75, anew=True), len(entries(service))
    key = {"Idempotency-Key": "batch of one morning"}

    def send(_: int) -> dict[str, Any]:
        sent = service.client("ann").post("/api/v1/batches", json=body, headers=key)
        assert sent.status_code == 202, sent.text
        found: dict[str, Any] = sent.json()
        return found

    with ThreadPoolExecutor(4) as threads:
        sent = list(threads.map(send, range(8)))
    assert len({json.dumps([job["id"] for job in each["questions"]]) for each in sent}) == 1
    client = service.client("ann")
    assert {job["state"] for job in over(client, sent[0]["links"]["self"])} == {"answered"}
    assert len(entries(service)) == before + 2
    for other in (asked(WARDS, anew=True), asked(WARDS, AGES, WARDS, epsilon=0.75, anew=True)):
        refused = client.post("/api/v1/batches", json=other, headers=key)
        assert (refused.status_code, refused.json()["code"]) == (409, "key_reused")
    bob = service.client("bob").post("/api/v1/batches", json=asked(WARDS), headers=key)
    assert bob.status_code == 202
    assert len(bob.json()["questions"]) == 1
    assert len(client.get(sent[0]["links"]["self"]).json()["questions"]) == 2


def test_a_batch_is_seen_by_whoever_asked_and_by_nobody_else(service: RunningService) -> None:
    made = service.client("ann").post("/api/v1/batches", json=asked(WARDS, COUNT)).json()
    over(service.client("ann"), made["links"]["self"])
    for person in ("bob", "all"):
        client = service.client(person)
        for path in (*made["links"].values(), "/api/v1/batches/%25", "/api/v1/batches/x"):
            assert client.get(path).status_code == 404
        assert client.delete(made["links"]["self"]).status_code == 404
    assert service.client("olga").post("/api/v1/batches", json=asked(COUNT)).status_code == 403
    assert service.client().post("/api/v1/batches", json=asked(COUNT)).status_code == 401


def test_a_batch_over_its_limits_is_refused_whole_and_free(service: RunningService) -> None:
    client, before = service.client("ann"), len(entries(service))
    many = [f"{COUNT} WHERE age > {age}" for age in range(33)]
    wrong = [
        asked(),
        asked(*many),
        {"questions": asked(COUNT)["questions"], "analyst": "bob"},
        asked(COUNT, analyst="bob"),
        {"questions": [*asked(COUNT)["questions"], {"sql": COUNT}]},
        {"questions": {"sql": COUNT}},
    ]
    assert [client.post("/api/v1/batches", json=body).status_code for body in wrong] == [422] * 6
    long = asked(*[COUNT + " " * 19_000] * 32, purpose="x" * 500)
    long["questions"] *= 2
    assert client.post("/api/v1/batches", json=long).status_code == 413
    assert len(entries(service)) == before


def test_a_key_of_one_question_cannot_pass_for_one_of_a_batch(service: RunningService) -> None:
    """Otherwise many questions counted as one, and the limit on unfinished ones meant nothing."""
    client = service.client("ann")
    for key in ("batch:", "batch:" + 24 * "a" + ":0000"):
        sent = client.post(
            "/api/v1/questions",
            json={"sql": COUNT, "epsilon": 0.5, "account": "research"},
            headers={"Idempotency-Key": key},
        )
        assert sent.status_code == 422


def test_another_analysts_quota_pays_for_nothing_in_a_batch(service: RunningService) -> None:
    with service.ledger() as ledger:
        ledger.people.add("zoe", roles=["analyst"], by="test")
        service.tokens["zoe"] = ledger.people.create_token("zoe", by="test")[1]
    before = len(entries(service, "shared"))
    client = service.client("zoe")
    made = client.post("/api/v1/batches", json=asked(WARDS, COUNT, account="shared"))
    jobs = over(client, made.headers["Location"])
    assert {job["state"] for job in jobs} == {"refused"}
    assert "ann" not in json.dumps(jobs)
    assert len(entries(service, "shared")) == before


def test_phases_of_all_questions_are_one_stream(service: RunningService) -> None:
    client = service.client("ann")
    made = client.post("/api/v1/batches", json=asked(WARDS, AGES, epsilon=0.375)).json()
    with client.stream("GET", made["links"]["events"]) as stream:
        said = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    ended = [each["id"] for each in said if each["state"] == "answered"]
    assert sorted(ended) == sorted(job["id"] for job in made["questions"])
    assert all(set(each) == {"id", "state", "phase"} for each in said)


def test_what_is_cancelled_of_a_batch_ends_alone_and_all_end_with_the_batch(
    slow_steps: RunningService,
) -> None:
    client = slow_steps.client("ann")
    place = client.post("/api/v1/batches", json=asked(WARDS, AGES, COUNT)).headers["Location"]
    deadline = time.monotonic() + PATIENCE
    while not all(job["charged"] for job in client.get(place).json()["questions"]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    phases = [job["phase"] for job in client.get(place).json()["questions"]]
    assert phases == ["computing"] * 3
    first = client.get(place).json()["questions"][0]
    assert client.delete(first["links"]["self"]).json()["state"] == "cancelled"
    states = [job["state"] for job in client.get(place).json()["questions"]]
    assert states == ["cancelled", "open", "open"]
    # a batch counts as one question towards the two that are allowed
    body = {"sql": COUNT, "epsilon": 0.1, "account": "research"}
    assert client.post("/api/v1/questions", json=body).status_code == 202
    assert client.post("/api/v1/batches", json=asked(COUNT)).status_code == 429
    ended = client.delete(place).json()
    assert ended["state"] == "over"
    assert [job["state"] for job in ended["questions"]] == ["cancelled"] * 3
    assert all(job["charged"] for job in ended["questions"])
    assert client.post("/api/v1/batches", json=asked(COUNT)).status_code == 202
    statuses = {entry.status for entry in entries(slow_steps)}
    assert statuses == {"reserved"}


def test_a_plan_is_submitted_approved_as_a_whole_and_asked_in_one_batch(
    service: RunningService,
) -> None:
    plan = [
        PlanQuestion(question=WARDS, epsilon=0.5),
        PlanQuestion(question=AGES, epsilon=0.25, purpose="ages"),
    ]
    ann = q.connect(service.url, token=service.tokens["ann"], progress=False)
    account, made = ann.submit_plan(plan, account="careful", purpose="annual")
    assert account == "careful"
    refused = ann.ask_many(plan, account="careful", approval=made)
    assert {getattr(one, "code", "") for one in refused} == {"approval_needed"}
    place = f"/api/v1/approvals/careful/{made}"
    assert service.client("petra").post(place, json={"decision": "approve"}).is_success
    bob = q.connect(service.url, token=service.tokens["bob"], progress=False)
    stolen = bob.ask_many(plan, account="careful", approval=made)
    assert not any(isinstance(one, Answer) for one in stolen)
    found = ann.ask_many(plan, account="careful", approval=made)
    assert all(isinstance(one, Answer) for one in found)
    again = ann.ask_many(plan, account="careful", approval=made, anew=True)
    assert not any(isinstance(one, Answer) for one in again)
    assert [each.purpose for each in entries(service, "careful")][-2:] == ["annual", "ages"]


def test_a_remote_curator_asks_many_as_one_in_this_process_does(service: RunningService) -> None:
    remote = q.connect(service.url, token=service.tokens["ann"], progress=False)
    texts = (WARDS, "SELECT patient FROM visits", COUNT)
    plan = [PlanQuestion(question=text, epsilon=0.625) for text in texts]
    plan.append(PlanQuestion(question=AGES, epsilon=5000.0))
    found = remote.ask_many(plan, account="research", key="as here")
    kinds = [type(one) for one in found]
    assert kinds == [Answer, RefusedQuery, Answer, BudgetExceeded]
    again = remote.ask_many(plan, account="research", key="as here")
    assert [isinstance(one, Answer) and list(one.rows()) for one in again] == [
        isinstance(one, Answer) and list(one.rows()) for one in found
    ]
    many = [PlanQuestion(question=WARDS, epsilon=0.625)] * 40
    free = remote.ask_many(many, account="research")
    assert [isinstance(one, Answer) and one.repeated for one in free] == [True] * 40
    with pytest.raises(q.InvalidParameter):
        remote.ask_many(["SELECT 1"])  # type: ignore[list-item]
