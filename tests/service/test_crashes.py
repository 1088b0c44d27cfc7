"""Ends of a service: told to stop, or killed. No charge is lost, none is made twice."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import psutil  # type: ignore[import-untyped]
import pytest

from tests.service.running import COUNT, RunningService, made_hospital, running

if TYPE_CHECKING:
    from pathlib import Path


def _submit(service: RunningService, count: int) -> dict[str, str]:
    """Ask different questions as two analysts; the jobs and whose they are."""
    jobs = {}
    for number in range(count):
        person = ("ann", "bob")[number % 2]
        body = {
            "sql": f"{COUNT} WHERE age > {20 + number}",
            "epsilon": 0.5,
            "account": "research",
            "anew": number % 4 == 3,
        }
        asked = service.client(person).post("/api/v1/questions", json=body)
        assert asked.status_code == 202
        jobs[asked.json()["id"]] = person
    return jobs


def _submit_batch(service: RunningService) -> dict[str, str]:
    """Ask four questions together as one of them; the jobs and whose they are."""
    questions = [
        {
            "sql": f"{COUNT} WHERE age > {20 + number}",
            "epsilon": 0.25,
            "account": "research",
            "anew": number % 2 == 1,
        }
        for number in range(4)
    ]
    asked = service.client("ann").post("/api/v1/batches", json={"questions": questions})
    assert asked.status_code == 202
    return {job["id"]: "ann" for job in asked.json()["questions"]}


def _until(service: RunningService, jobs: dict[str, str], **wanted: Any) -> None:
    deadline = time.monotonic() + 120
    for job, person in jobs.items():
        while True:
            found = service.client(person).get(f"/api/v1/jobs/{job}").json()
            if all(found[name] == value for name, value in wanted.items()):
                break
            assert time.monotonic() < deadline, found
            time.sleep(0.05)


def _location(tmp_path: Path, request: pytest.FixtureRequest, store: str) -> Path:
    database = request.getfixturevalue("database") if store == "postgres" else None
    return made_hospital(tmp_path, database=database)


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_after_a_kill_every_charge_has_a_job_that_completes(
    tmp_path: Path, request: pytest.FixtureRequest, store: str
) -> None:
    catalog = _location(tmp_path, request, store)
    with running(catalog, "--time-step", "600") as service:
        jobs = _submit(service, 4) | _submit_batch(service)
        _until(service, jobs, charged=True)
        service.kill()
        with service.ledger() as ledger:
            assert len(list(ledger.account("research").entries())) == 8
            assert len(ledger.pending()) == 8
            assert not [each for each in ledger.pending() if each.state == "drawn"]
            assert {ledger.questions.get(job).state for job in jobs} == {"open"}
    with running(catalog, "--time-step", "0.05") as service:
        for job, person in jobs.items():
            found = service.waited(person, job)
            assert found["state"] == "answered", found["problem"]
            assert service.client(person).get(f"/api/v1/jobs/{job}/answer").is_success
        with service.ledger() as ledger:
            entries = list(ledger.account("research").entries())
            assert [each.status for each in entries] == ["released"] * 8
            assert ledger.pending() == ()
            ledger.verify()


@pytest.mark.slow
def test_a_question_whose_noise_may_have_been_drawn_is_not_drawn_again(tmp_path: Path) -> None:
    catalog = made_hospital(tmp_path)
    with running(catalog, "--time-step", "600") as service:
        jobs = _submit(service, 1)
        _until(service, jobs, charged=True)
        service.kill()
        (job,) = jobs
        with service.ledger() as ledger:
            account = ledger.account("research")
            account._cashier.draw(entry=1, attempt=1)  # as if it had come so far
    with running(catalog, "--time-step", "0.05") as service:
        found = service.waited("ann", job)
        assert found["state"] == "failed"
        assert found["charged"]
        assert found["problem"]["code"] == "engine_failed"
        with service.ledger() as ledger:
            assert len(list(ledger.account("research").entries())) == 1
            (pending,) = ledger.pending()
            assert pending.state == "drawn"
            ledger.verify()


def test_told_to_stop_it_finishes_what_is_under_way(tmp_path: Path) -> None:
    catalog = made_hospital(tmp_path)
    with running(catalog, "--time-step", "3") as service:
        jobs = _submit(service, 3)
        _until(service, jobs, charged=True)
        assert service.stop() == 0
        with service.ledger() as ledger:
            assert {ledger.questions.get(job).state for job in jobs} == {"answered"}
            assert ledger.pending() == ()


@pytest.mark.slow
def test_what_does_not_finish_in_time_is_left_to_be_taken_up(tmp_path: Path) -> None:
    catalog = made_hospital(tmp_path)
    with running(catalog, "--time-step", "600", "--grace", "0.1") as service:
        jobs = _submit(service, 2)
        _until(service, jobs, charged=True)
        service.stop()
        with service.ledger() as ledger:
            assert {ledger.questions.get(job).state for job in jobs} == {"open"}
    with running(catalog, "--time-step", "0.05") as service:
        _until(service, jobs, state="answered")
        with service.ledger() as ledger:
            assert len(list(ledger.account("research").entries())) == 2


def test_a_throw_away_owner_signs_in_and_is_gone_afterwards(tmp_path: Path) -> None:
    catalog = made_hospital(tmp_path)
    with running(catalog, "--dev") as service:
        said = service.log.read_text(encoding="utf-8")
        link = next(word for word in said.split() if "/sign-in?link=" in word)
        browser = service.client()
        assert browser.post("/sign-in", data={"link": link.partition("=")[2]}).status_code == 303
        who = browser.get("/api/v1/session").json()
        assert set(who["roles"]) == {"owner", "approver", "analyst", "auditor"}
        assert service.stop() == 0
        with service.ledger() as ledger:
            found = ledger.people.get(who["name"])
            assert not found.active
            assert all(each.ended for each in ledger.people.credentials("session"))


def _ask_until(service: RunningService, over: threading.Event, number: int) -> list[str]:
    """Ask new questions, one after another, until it is over or nobody answers; the jobs."""
    jobs: list[str] = []
    person = ("ann", "bob", "all")[number % 3]
    with service.client(person) as client:
        for turn in itertools.count():
            sql = f"{COUNT} WHERE age > {turn % 90} AND patient > {100 * number + turn // 90}"
            body = {"sql": sql, "epsilon": 0.01, "account": "research"}
            try:
                asked = client.post("/api/v1/questions", json=body)
            except httpx.HTTPError:
                return jobs
            if asked.status_code == 202:
                jobs.append(asked.json()["id"])
            else:
                assert asked.status_code == 429
                time.sleep(0.05)
            if over.is_set():
                return jobs
    return jobs


def _until_released(service: RunningService, count: int) -> None:
    deadline = time.monotonic() + 120
    with service.ledger() as ledger:
        while [e.status for e in ledger.account("research").entries()].count("released") < count:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("store", "processes"), [("sqlite", "1"), ("postgres", "1"), ("postgres", "2")]
)
def test_killed_under_load_it_loses_no_charge(
    tmp_path: Path, request: pytest.FixtureRequest, store: str, processes: str
) -> None:
    catalog = _location(tmp_path, request, store)
    options = ("--rate", "100000", "--most-jobs", "50", "--processes", processes)
    over = threading.Event()
    with (
        running(catalog, *options, "--time-step", "0.2") as service,
        ThreadPoolExecutor(6) as pool,
    ):
        asked = [pool.submit(_ask_until, service, over, number) for number in range(6)]
        _until_released(service, 10)
        for each in (*psutil.Process(service.process.pid).children(), service.process):
            each.kill()
        service.process.wait()
        over.set()
        jobs = [job for one in asked for job in one.result()]
    assert len(jobs) >= 10
    with running(catalog, *options, "--time-step", "0.05") as service:
        deadline = time.monotonic() + 300
        with service.ledger() as ledger:
            people = ("ann", "bob", "all")  # some jobs were made that nobody was told of
            while True:
                found = [job for one in people for job in ledger.questions.of(one, most=10_000)]
                if "open" not in {each.state for each in found}:
                    break
                assert time.monotonic() < deadline
                time.sleep(0.2)
            assert {each.id for each in found} >= set(jobs)
            entries = {each.number: each for each in ledger.account("research").entries()}
            drawn = {each.entry for each in ledger.pending()}
            for each in found:
                assert each.state == "answered" or each.entry in drawn, each
            assert {each.entry for each in found} >= set(entries) - {0}
            assert not [n for n, e in entries.items() if e.status != "released" and n not in drawn]
            ledger.verify()


@pytest.mark.slow
def test_several_processes_share_a_ledger_in_postgres(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    catalog = _location(tmp_path, request, "postgres")
    with running(catalog, "--processes", "3", "--time-step", "0.05", "--rate", "100000") as service:
        assert len(psutil.Process(service.process.pid).children()) >= 3
        jobs = _submit(service, 12)
        for job, person in jobs.items():  # each look may come to another process
            assert service.waited(person, job)["state"] == "answered"
        again = service.ask("ann", f"{COUNT} WHERE age > 20")
        assert again["repeated"]
        assert service.stop() == 0
        with service.ledger() as ledger:
            assert len(list(ledger.account("research").entries())) == 12
            ledger.verify()


def test_several_processes_want_a_ledger_in_postgres(tmp_path: Path) -> None:
    catalog = made_hospital(tmp_path)
    command = [sys.executable, "-m", "quaestor", "serve", "--processes", "2", "--catalog"]
    done = subprocess.run([*command, catalog], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "PostgreSQL" in done.stderr + done.stdout
