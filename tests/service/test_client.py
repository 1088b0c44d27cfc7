"""The client: the same answers and errors as a curator in this process, with a token alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest

import quaestor as q
from quaestor.client import wire
from quaestor.curator import Accuracy, Curator
from tests.service.running import COUNT, RunningService, free_port

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.client.remote_curator import RemoteCurator

WARDS = "SELECT ward, AVG(age) AS mean, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture
def remote(service: RunningService) -> RemoteCurator:
    """What an analyst has."""
    return q.connect(service.url, token=service.tokens["ann"])


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_PAUSE", 0.01)


def test_the_answer_is_the_one_that_the_curator_keeps(
    service: RunningService, remote: RemoteCurator
) -> None:
    phases: list[str] = []
    watched = q.connect(service.url, token=service.tokens["ann"], progress=phases.append)
    answer = watched.ask(WARDS, epsilon=3.0, account="research")
    assert not answer.repeated
    with Curator.from_file(service.catalog) as curator:
        same = curator.ask(WARDS, epsilon=3.0, account="research", analyst="ann")
    assert same == answer
    assert same.repeated
    again = remote.ask(WARDS, epsilon=3.0, account="research")
    assert again == answer
    assert again.repeated
    assert set(phases) <= {"queued", "waiting", "planning", "computing"}


def test_the_preview_is_the_same_too(service: RunningService, remote: RemoteCurator) -> None:
    asked: dict[str, Any] = {"accuracy": Accuracy(within=20.0), "account": "research"}
    with Curator.from_file(service.catalog) as curator:
        assert remote.preview(COUNT, **asked) == curator.preview(COUNT, **asked, analyst="ann")


def test_errors_are_the_same_with_their_fields(remote: RemoteCurator) -> None:
    with pytest.raises(q.BudgetExceeded) as refused:
        remote.ask(COUNT, epsilon=5000.0, account="research")
    assert refused.value.remaining is not None
    assert refused.value.fields()["account"] == "research"
    with pytest.raises(q.RefusedQuery):
        remote.preview("SELECT patient FROM visits", epsilon=1.0, account="research")
    with pytest.raises(q.UnknownAccount) as unknown:
        remote.preview(COUNT, epsilon=1.0, account="researc")
    assert unknown.value.near == "research"
    with pytest.raises(q.InvalidParameter, match="exactly one of epsilon"):
        remote.ask(COUNT, account="research")
    with pytest.raises(q.InvalidParameter, match="SQL"):
        remote.ask(object(), epsilon=1.0)  # type: ignore[arg-type]


def test_the_same_key_is_the_same_question(remote: RemoteCurator) -> None:
    first = remote.ask(COUNT, epsilon=0.7, account="research", anew=True, key="mine")
    again = remote.ask(COUNT, epsilon=0.7, account="research", anew=True, key="mine")
    assert first == again
    assert remote.jobs()[0]["state"] == "answered"
    assert remote.datasets()["datasets"][0]["name"] == "visits"
    assert {each["name"] for each in remote.accounts()} == {"research", "shared", "careful"}


def test_a_token_is_sent_over_tls_or_to_this_machine_and_never_on(
    service: RunningService,
) -> None:
    with pytest.raises(q.InvalidParameter, match="https"):
        q.connect("http://data.example.org", token="qst_1")  # noqa: S106
    with pytest.raises(q.InvalidParameter, match="printed"):
        q.connect(service.url, token="a\r\nb")  # noqa: S106
    with pytest.raises(q.InvalidParameter, match="an address"):
        q.connect("file:///etc/passwd", token="qst_1")  # noqa: S106
    with pytest.raises(q.NotSignedIn):
        q.connect(service.url, token="qst_wrong").jobs()  # noqa: S106
    assert service.tokens["ann"] not in repr(q.connect(service.url, token=service.tokens["ann"]))


def test_a_redirection_is_not_followed() -> None:
    seen: list[str] = []

    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Redirecting)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        with pytest.raises(q.ServiceUnreachable, match="302"):
            q.connect(url, token="qst_1").jobs()  # noqa: S106
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert seen == ["/api/v1/jobs"]


def test_a_service_that_is_not_there_is_said_to_be_so() -> None:
    with pytest.raises(q.ServiceUnreachable):
        q.connect(f"http://127.0.0.1:{free_port()}", token="qst_1").jobs()  # noqa: S106


def test_the_command_line_asks_a_service(service: RunningService, tmp_path: Path) -> None:
    def run(*given: str, token: str = service.tokens["ann"]) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "quaestor", *given, "--server", service.url]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={
                "QUAESTOR_TOKEN": token,
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    asked = ("query", COUNT, "--epsilon", "0.9", "--account", "research")
    answered = run(*asked, "--json")
    assert answered.returncode == 0, answered.stderr
    assert json.loads(answered.stdout)["account"] == "research"
    assert "it cost nothing now" in run(*asked).stdout
    assert "costs nothing" in run("preview", *asked[1:]).stdout
    assert run("query", COUNT, "--epsilon", "5000", "--account", "research").returncode == 3
    assert run(*asked, "--analyst", "bob").returncode == 2
    questions = [(COUNT, 0.9), ("SELECT patient FROM visits", 0.9), (COUNT, 5000)]
    plan = [f'[[questions]]\nsql = "{text}"\nepsilon = {cost}\n' for text, cost in questions]
    (tmp_path / "plan.toml").write_text("\n".join(plan), encoding="utf-8")
    several = run("query", "--plan", "plan.toml", "--account", "research", "--json")
    assert several.returncode == 2, several.stderr
    outcomes = json.loads(several.stdout)["questions"]
    assert outcomes[0]["answer"]["repeated"]
    codes = [each["error"]["code"] for each in outcomes[1:]]
    assert codes == ["refused_query", "budget_exceeded"]
