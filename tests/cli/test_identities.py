"""The commands that link people with what an identity provider calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Run

ISSUER = "https://login.example.org"
PROVIDER = f"""
[service.oidc]
issuer = "{ISSUER}"
client = "quaestor"
environment = "OIDC_SECRET"
address = "https://data.example.org"
"""


@pytest.fixture
def ann(quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A folder in which the ledger knows somebody."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUAESTOR_LEDGER", raising=False)
    assert quaestor("people", "add", "ann", "--role", "analyst").status == 0
    return quaestor


def test_an_identity_is_linked_listed_and_unlinked(ann: Run, tmp_path: Path) -> None:
    by_email = ("people", "link-identity", "ann", "--email", "Ann@Example.org")
    assert ann(*by_email).status == 2  # no catalog names the issuer
    (tmp_path / "quaestor.toml").write_text(PROVIDER, encoding="utf-8")
    made = ann(*by_email, "--json").json
    assert made["note"] == f"e-mail ann@example.org at {ISSUER}"
    assert ann(*by_email).status == 2  # it is linked already
    linked = ann("people", "link-identity", "ann", "--subject", "5f3c", "--issuer", ISSUER)
    assert "subject 5f3c" in linked.out
    assert "5f3c" in ann("people", "identities").out
    listed = ann("people", "identities", "--person", "ann", "--json").json["identities"]
    assert {each["note"].split()[0] for each in listed} == {"e-mail", "subject"}
    assert "unlinked" in ann("people", "unlink-identity", made["id"]).out
    assert ann("people", "unlink-identity", made["id"], "--json").json["status"] == "unlinked"
    assert ann(*by_email).status == 0  # and linked again


@pytest.mark.parametrize(
    "given",
    [
        ("ann",),
        ("ann", "--email", "a@b.c", "--subject", "1"),
        ("ann", "--email", "nobody"),
        ("ann", "--email", "a b@c.d"),
        ("ann", "--subject", "x" * 256),
        ("ann", "--subject", "1", "--issuer", "login.example.org"),
        ("eve", "--subject", "1"),
    ],
    ids=str,
)
def test_what_is_no_identity_is_refused(ann: Run, given: tuple[str, ...]) -> None:
    issuer = () if "--issuer" in given else ("--issuer", ISSUER)
    assert ann("people", "link-identity", *given, *issuer).status == 2
