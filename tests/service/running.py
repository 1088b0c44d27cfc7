"""A real service, in a process of its own, on a free port; and clients that speak HTTP to it."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from quaestor.curator import Curator
from quaestor.ledger import ROLES, Ledger
from tests.curator.hospital import write_hospital

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "ACCOUNTS",
    "COUNT",
    "PATIENCE",
    "RunningService",
    "free_port",
    "made_hospital",
    "running",
]

COUNT = "SELECT COUNT(*) AS n FROM visits"
ACCOUNTS = """
[accounts.research]
epsilon = 1000.0
delta = 1e-6

[accounts.shared]
epsilon = 100.0
delta = 1e-6
beside = true
[accounts.shared.quotas]
ann = { epsilon = 20.0, delta = 1e-7 }
bob = { epsilon = 20.0, delta = 1e-7 }

[accounts.careful]
epsilon = 100.0
delta = 1e-6
beside = true
approval = true
"""
PEOPLE = {
    "olga": ("owner",),
    "petra": ("approver",),
    "ann": ("analyst",),
    "bob": ("analyst",),
    "udo": ("auditor",),
    "all": ROLES,
}
PATIENCE = 120.0
# To read the system's certificates takes longer than most requests: one reading is for all clients.
_TRUST = ssl.create_default_context()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass(slots=True)
class RunningService:
    """A service that answers, and what a test needs to use it."""

    url: str
    catalog: Path
    tokens: dict[str, str]
    process: subprocess.Popen[bytes]
    log: Path
    clients: list[httpx.Client] = field(default_factory=list)

    def client(self, person: str | None = None) -> httpx.Client:
        """A client of somebody's, or of nobody's."""
        headers = {} if person is None else {"Authorization": f"Bearer {self.tokens[person]}"}
        made = httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE, verify=_TRUST)
        self.clients.append(made)
        return made

    def ask(self, person: str, sql: str = COUNT, **more: Any) -> dict[str, Any]:
        """Ask, and wait until the job is over."""
        key = more.pop("key", "")
        body = {"sql": sql, "account": "research", **more}
        if not {"epsilon", "rho", "accuracy"} & set(body):
            body["epsilon"] = 0.5
        with self.client(person) as client:
            asked = client.post("/api/v1/questions", json=body, headers={"Idempotency-Key": key})
            assert asked.status_code == 202, asked.text
            return self.waited(person, asked.json()["id"])

    def waited(self, person: str, job: str) -> dict[str, Any]:
        """A job, once it is over."""
        deadline = time.monotonic() + PATIENCE
        with self.client(person) as client:
            while time.monotonic() < deadline:
                found: dict[str, Any] = client.get(f"/api/v1/jobs/{job}").json()
                if found["state"] != "open":
                    return found
                time.sleep(0.05)
        raise TimeoutError(job)

    def ledger(self) -> Ledger:
        """The service's ledger, from beside it."""
        with Curator.from_file(self.catalog) as curator:
            return Ledger(curator.catalog.ledger_address())

    def stop(self) -> int:
        """Tell it to end, and wait until it has."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """End it without a warning."""
        self.process.kill()
        self.process.wait(PATIENCE)


def made_hospital(folder: Path, *, database: str | None = None, accounts: str = ACCOUNTS) -> Path:
    """A hospital with open accounts; its ledger is a file, or that PostgreSQL database."""
    more = "" if database is None else '[ledger]\nenvironment = "SERVICE_LEDGER"\n'
    if database is not None:
        os.environ["SERVICE_LEDGER"] = database
    catalog = write_hospital(folder, accounts, more=more)
    with Curator.from_file(catalog) as curator:
        for plan in curator.catalog.accounts:
            curator.open_account(plan.name)
    return catalog


@contextmanager
def running(
    catalog: Path, *options: str, people: bool = True, port: int | None = None
) -> Iterator[RunningService]:
    """A service over a catalog, until the block is over."""
    tokens = {}
    with Curator.from_file(catalog) as curator:
        known = {each.name for each in curator.ledger.people.all()}
        for name, roles in PEOPLE.items() if people else ():
            if name not in known:
                curator.ledger.people.add(name, roles=roles, by="test")
            tokens[name] = curator.ledger.people.create_token(name, by="test")[1]
    port, log = port or free_port(), catalog.parent / "service.log"
    command = [sys.executable, "-m", "quaestor", "serve", "--catalog", str(catalog)]
    with log.open("ab") as written:
        process = subprocess.Popen(
            [*command, "--port", str(port), *options], stdout=written, stderr=written
        )
    service = RunningService(f"http://127.0.0.1:{port}", catalog, tokens, process, log)
    try:
        _wait(service)
        yield service
    finally:
        for client in service.clients:
            client.close()
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(service: RunningService) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert service.process.poll() is None, service.log.read_text()
        try:
            if httpx.get(f"{service.url}/ready", timeout=5, verify=_TRUST).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise TimeoutError(service.log.read_text())
