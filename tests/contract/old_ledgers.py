"""What ``tests/fixtures/before_kernel`` holds: its worlds, and the ways to open them."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quaestor.curator import Accuracy
from quaestor.curator.pricing.editions import FIRST
from quaestor.curator.pricing.priced_question import Budget, plan, price
from tests.fixtures.before_kernel.built import BUILT

if TYPE_CHECKING:
    from quaestor.curator.builder.tables import Question
    from quaestor.curator.catalog.model import Catalog
    from quaestor.ledger import Account, Ledger

__all__ = [
    "ACCOUNTS",
    "ANSWERED",
    "CATALOGS",
    "FIXTURES",
    "UNANSWERED",
    "WORLDS",
    "Recorded",
    "copied",
    "fingerprint_now",
    "heads",
    "loaded",
    "meters",
]

FIXTURES = Path(__file__).parents[1] / "fixtures" / "before_kernel"
CATALOGS = ("clinic", "registry", "server", "cluster")
WORLDS = (*CATALOGS, "books")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A question as it was asked then, and all that was known of it."""

    told: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.world}: {self.told['name']}"

    @property
    def world(self) -> str:
        """Whose catalog and ledger it was asked of."""
        return str(self.told["world"])

    @property
    def question(self) -> str | Question:
        """SQL, or a question of the builder."""
        return self.told["sql"] if "sql" in self.told else BUILT[self.told["built"]]

    @property
    def parameters(self) -> dict[str, Any]:
        """What was given beside the question."""
        given = dict(self.told["parameters"])
        if "accuracy" in given:
            given["accuracy"] = Accuracy(**given["accuracy"])
        return given


def _read(name: str) -> Any:
    return json.loads((FIXTURES / name).read_text(encoding="utf-8"))


_QUESTIONS = _read("questions.json")
ANSWERED = [Recorded(told) for told in _QUESTIONS["answered"]]
UNANSWERED = [Recorded(told) for told in _QUESTIONS["unanswered"]]
ACCOUNTS: dict[str, dict[str, Any]] = _read("accounts.json")


def copied(world: str, folder: Path) -> Path:
    """The catalog and the ledger in a folder of their own, without any data; the folder."""
    for file in ("quaestor.toml", "ledger.db"):
        if (FIXTURES / world / file).exists():
            shutil.copy(FIXTURES / world / file, folder)
    return folder


def loaded(world: str, address: str) -> str:
    """The ledger in an empty PostgreSQL database, with the tables of that time; the address."""
    import psycopg

    schema: Any = (FIXTURES / "postgres.sql").read_text(encoding="utf-8")
    with psycopg.connect(address) as connection:
        connection.execute(schema)
        for table, dumped in _read(f"{world}/ledger.json").items():
            places = ", ".join("%s" for _ in dumped["columns"])
            names = ", ".join(dumped["columns"])
            statement: Any = f"INSERT INTO {table} ({names}) VALUES ({places})"  # noqa: S608
            connection.cursor().executemany(statement, dumped["rows"])
    return address


def fingerprint_now(recorded: Recorded, catalog: Catalog) -> str:
    """What the question is known by today, priced as it was then."""
    given = recorded.parameters
    limits = {name: given.pop(name, None) for name in ("rows", "groups")}
    given.pop("analyst", None)
    account = catalog.account(given.pop("account", recorded.told["account"]))
    assert account is not None
    query = plan(recorded.question, catalog, **limits)
    budget = Budget(**given)
    return price(query, budget, catalog, delta=account.delta, edition=FIRST).fingerprint


def heads(ledger: Ledger) -> dict[str, str]:
    """Where every account's chain ends: another one after anything was written."""
    return {account.name: account.state().head for account in ledger.accounts()}


def meters(account: Account, analyst: str) -> list[dict[str, str | None]]:
    """Every meter of an account and, if one is named, of an analyst's quota: exactly.

    They were shown together then; now an analyst with a quota sees that alone.
    """
    balances = account.remaining()
    if analyst and account.definition.shares:
        balances = (*balances, *account.remaining(analyst=analyst))
    told = [
        {
            "meter": balance.meter,
            "dataset": balance.dataset,
            "analyst": balance.analyst,
            **{
                name: None if (value := getattr(balance, name)) is None else str(value)
                for name in ("spent", "remaining", "limit")
            },
        }
        for balance in balances
    ]
    return sorted(told, key=str)
