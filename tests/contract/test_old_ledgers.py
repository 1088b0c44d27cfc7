"""Ledgers that were written before the curator was rewritten: they open, and answer, as ever.

Nothing of what is expected here was computed by the code under test: ``make.py`` beside the
fixtures wrote it down when they were made.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.releases.codec import release_from_dict
from quaestor.curator import Curator
from quaestor.curator.catalog.catalog_file import read_catalog
from quaestor.errors import (
    AccountClosed,
    AccountOverdrawn,
    LedgerUnavailable,
    NotPlanned,
    SourceUnavailable,
)
from quaestor.ledger import Ledger, backup_ledger, restore_ledger
from tests.contract.old_ledgers import (
    ACCOUNTS,
    ANSWERED,
    CATALOGS,
    FIXTURES,
    UNANSWERED,
    WORLDS,
    copied,
    fingerprint_now,
    heads,
    loaded,
    meters,
)
from tests.fixtures.before_kernel.data import write_data

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.contract.old_ledgers import Recorded

REPRICED: dict[str, str | None] = {
    "unsound": None,  # its price is another one where masses are not lost
    "every release": "some charged releases have no bound here",  # sampled without replacement
    "filter gdp": "some charged releases have no bound here",  # imported without a statement
}
AMOUNTS = ("spent", "remaining", "limit")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what is unsound overflows too


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def locations(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Where a copy of every ledger is: in files, and then on a PostgreSQL server."""
    folders = {world: copied(world, tmp_path_factory.mktemp(world)) for world in WORLDS}
    if request.param == "sqlite":
        return {world: str(folder / "ledger.db") for world, folder in folders.items()}
    import psycopg

    server: str = request.getfixturevalue("postgres_address")
    with psycopg.connect(server, autocommit=True) as connection:
        for world in WORLDS:
            connection.execute(f"CREATE DATABASE before_{world}")  # type: ignore[call-overload,unused-ignore]
    return {
        world: loaded(world, server.replace("/postgres?", f"/before_{world}?")) for world in WORLDS
    }


@pytest.fixture(scope="module")
def ledgers(locations: dict[str, str]) -> Iterator[dict[str, Ledger]]:
    """Every ledger, opened by today's code."""
    opened = {world: Ledger(location, create=False) for world, location in locations.items()}
    yield opened
    for ledger in opened.values():
        ledger.close()


@pytest.fixture(scope="module")
def curators(ledgers: dict[str, Ledger]) -> Iterator[dict[str, Curator]]:
    """A curator of every catalog, where none of its data are."""
    opened = {
        world: Curator(read_catalog(FIXTURES / world), ledger=ledgers[world]) for world in CATALOGS
    }
    yield opened
    for curator in opened.values():
        curator.close()


# Questions.


def test_there_are_questions_of_many_kinds() -> None:
    assert len(ANSWERED) == 79
    assert {recorded.world for recorded in ANSWERED} == set(CATALOGS)


@pytest.mark.parametrize("recorded", ANSWERED + UNANSWERED, ids=str)
def test_a_question_is_known_by_the_same_fingerprint(recorded: Recorded) -> None:
    catalog = read_catalog(FIXTURES / recorded.world)
    assert fingerprint_now(recorded, catalog) == recorded.told["fingerprint"]


@pytest.mark.parametrize("recorded", ANSWERED, ids=str)
def test_a_stored_answer_is_given_word_for_word_and_nothing_is_written(
    curators: dict[str, Curator], recorded: Recorded
) -> None:
    curator = curators[recorded.world]
    before = heads(curator.ledger)
    answer = curator.ask(recorded.question, **recorded.parameters)
    assert answer.repeated
    assert answer.to_json() == recorded.told["answer"]
    assert (answer.account, answer.receipt) == (recorded.told["account"], recorded.told["entry"])
    assert heads(curator.ledger) == before


@pytest.mark.parametrize("recorded", ANSWERED, ids=str)
def test_a_preview_knows_the_same_price_and_that_it_is_paid_already(
    curators: dict[str, Curator], recorded: Recorded
) -> None:
    seen = curators[recorded.world].preview(recorded.question, **recorded.parameters)
    assert (seen.free, seen.fits) == (True, True)
    assert seen.delta == recorded.told["delta"]
    # upper ends of one number, by two versions: never dearer, and cheaper within the old width
    told, now = recorded.told["epsilon"], seen.epsilon or 0.0
    assert seen.epsilon == told or told * (1 - 1e-5) <= now <= told * (1 + 1e-12)
    assert [release.to_dict() for release in seen.releases] == recorded.told["releases"]


@pytest.mark.parametrize("recorded", UNANSWERED, ids=str)
def test_a_charge_without_an_answer_does_not_make_its_question_free(
    curators: dict[str, Curator], recorded: Recorded
) -> None:
    curator = curators[recorded.world]
    assert not curator.preview(recorded.question, **recorded.parameters).free
    seen = curator.preview(recorded.question, **recorded.parameters, whole_error=False)
    assert not seen.free  # and what is answered anew is priced by the latest edition
    assert 0 < (seen.epsilon or 0) <= recorded.parameters.get("epsilon", math.inf)
    (entry,) = [
        entry
        for entry in curator.account(recorded.told["account"]).entries()
        if entry.number == recorded.told["entry"]
    ]
    assert (entry.status, entry.query) == (recorded.told["name"], recorded.told["fingerprint"])


def test_a_stored_answer_is_for_the_analyst_who_paid_for_it(curators: dict[str, Curator]) -> None:
    sql, curator = "SELECT COUNT(*) AS n FROM north", curators["registry"]
    receipts = {
        curator.ask(sql, epsilon=0.5, account="shared", analyst=analyst).receipt
        for analyst in ("ada", "ben")
    }
    assert len(receipts) == 2
    assert not curator.preview(sql, epsilon=0.5, account="shared", analyst="eve").free


@pytest.mark.parametrize("world", ["clinic", "registry", "server"])
def test_a_new_question_needs_the_data_which_are_not_there(
    curators: dict[str, Curator], world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BEFORE_KERNEL_TABLES", raising=False)
    curator, recorded = curators[world], next(each for each in ANSWERED if each.world == world)
    before = heads(curator.ledger)
    given = {**recorded.parameters, "epsilon": 0.11}
    with pytest.raises(SourceUnavailable):
        curator.ask(recorded.question, **given)
    assert heads(curator.ledger) == before


# Accounts.


@pytest.mark.parametrize("world", WORLDS)
def test_an_old_ledger_verifies_and_ends_where_it_did(
    ledgers: dict[str, Ledger], world: str
) -> None:
    recorded = ACCOUNTS[world]
    noted = {name: account["head"] for name, account in recorded.items()}
    found = ledgers[world].verify(heads=noted)
    assert {each.account: (each.events, each.entries, each.head) for each in found} == {
        name: (account["events"], account["entries"], account["head"])
        for name, account in recorded.items()
    }


@pytest.mark.parametrize("world", WORLDS)
def test_an_account_is_what_it_was_and_has_what_it_had(
    ledgers: dict[str, Ledger], world: str
) -> None:
    assert {account.name for account in ledgers[world].accounts()} == set(ACCOUNTS[world])
    for name, recorded in ACCOUNTS[world].items():
        account = ledgers[world].account(name)
        assert account.definition.to_json() == recorded["definition"]
        assert [entry.status for entry in account.entries()] == recorded["statuses"]
        assert account.state().closed == recorded["closed"]
        if name in REPRICED:
            continue
        assert account.problem() is None
        for analyst, expected in recorded["meters"].items():
            agree(meters(account, analyst), sorted(expected, key=str), name)


def agree(now: list[dict[str, str | None]], then: list[dict[str, str | None]], name: str) -> None:
    """The same meters, up to bits in which processors round differently: they are priced again."""
    assert [{k: v for k, v in one.items() if k not in AMOUNTS} for one in now] == [
        {k: v for k, v in one.items() if k not in AMOUNTS} for one in then
    ], name
    for one, other in zip(now, then, strict=True):
        for amount in AMOUNTS:
            ours, theirs = one[amount], other[amount]
            if ours is None or theirs is None:
                assert ours == theirs, (name, one)
            else:
                scale = Fraction(str(one["limit"]))
                assert abs(Fraction(ours) - Fraction(theirs)) <= scale / 2**45, (name, one)


@pytest.mark.parametrize(("name", "reason"), REPRICED.items())
def test_an_account_that_was_charged_too_little_says_so_and_takes_no_more(
    ledgers: dict[str, Ledger], name: str, reason: str | None
) -> None:
    account = ledgers["books"].account(name)
    if reason is not None:
        assert reason in str(account.problem())
        assert account.verify().problem == account.problem()
        with pytest.raises(AccountOverdrawn):
            account.reserve(release_from_dict({"type": "PureDP", "epsilon": 1e-9}))
    assert account.verify().head == ACCOUNTS["books"][name]["head"]


def test_an_account_whose_price_was_unsound_still_opens(ledgers: dict[str, Ledger]) -> None:
    account = ledgers["books"].account("unsound")
    (entry,) = account.entries()
    assert [str(release) for release in entry.releases] == [
        "PoissonSampled(release=DiscreteGaussian(sigma=0.5, sensitivity=40), rate=0.1)"
    ]
    assert account.verify().head == ACCOUNTS["books"]["unsound"]["head"]


def test_a_closed_account_stays_closed(ledgers: dict[str, Ledger]) -> None:
    account = ledgers["books"].account("closed")
    with pytest.raises(AccountClosed):
        account.reserve(release_from_dict({"type": "PureDP", "epsilon": 1e-3}))


@pytest.mark.parametrize("world", ["registry", "server"])
def test_a_dashboard_still_knows_its_own_questions_and_no_others(
    curators: dict[str, Curator], world: str
) -> None:
    curator = curators[world]
    planned = curator.catalog.account("board")
    assert planned is not None
    declared = json.loads(ACCOUNTS[world]["board"]["definition"])["policy"]["queries"]
    free = []
    for query in planned.queries:
        seen = curator.preview(
            query.sql,
            epsilon=query.epsilon,
            rho=query.rho,
            delta=query.delta or None,
            account="board",
        )
        assert seen.fits
        free.append(seen.free)
    assert len(declared) == len(planned.queries)
    assert free.count(True) == ACCOUNTS[world]["board"]["entries"]
    with pytest.raises(NotPlanned):
        curator.preview(planned.queries[0].sql, account="board", epsilon=0.123)


# And they go on.


@pytest.mark.parametrize("world", ["clinic", "registry"])
def test_an_old_ledger_is_charged_for_a_new_question(world: str, tmp_path: Path) -> None:
    write_data(world, copied(world, tmp_path))
    sql, name, analyst = {
        "clinic": ("SELECT ward, MEDIAN(age) AS m FROM visits GROUP BY ward", "research", ""),
        "registry": ("SELECT MEDIAN(income) AS m FROM south", "shared", "ada"),
    }[world]
    with Curator.from_file(tmp_path) as curator:
        answer = curator.ask(sql, epsilon=0.2, account=name, analyst=analyst)
        entries = list(curator.account(name).entries())
        assert len(entries) == ACCOUNTS[world][name]["entries"] + 1
        if not analyst:  # receipts of those who have a quota count their own charges
            assert answer.receipt == len(entries)
        assert not answer.repeated
        assert curator.ask(sql, epsilon=0.2, account=name, analyst=analyst).repeated
        noted = {each: account["head"] for each, account in ACCOUNTS[world].items()}
        curator.ledger.verify(heads=noted)
        assert heads(curator.ledger)[name] != noted[name]


def test_the_ledger_that_a_catalog_names_is_found_by_its_variable(
    locations: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEFORE_KERNEL_LEDGER", locations["server"])
    recorded = next(each for each in ANSWERED if each.world == "server")
    with Curator.from_file(FIXTURES / "server") as curator:
        assert curator.ask(recorded.question, **recorded.parameters).repeated


def test_an_old_ledger_has_an_identity_and_can_be_backed_up_and_restored(tmp_path: Path) -> None:
    folder = copied("registry", tmp_path)
    with Ledger(folder / "ledger.db", create=False) as ledger:
        assert ledger._store.identity.kind == "ledger"
        assert len(ledger._store.identity.id) == 32
        noted = ledger.heads()
        assert noted == {name: told["head"] for name, told in ACCOUNTS["registry"].items()}
        backup_ledger(ledger, tmp_path / "backup.db")
    restore_ledger(
        tmp_path / "backup.db", tmp_path / "restored.db", reason="a new disk", heads=noted
    )
    with Ledger(tmp_path / "restored.db", create=False) as ledger:
        assert len(ledger.verify(heads=noted)) == len(noted)


def test_an_old_ledger_that_may_only_be_read_says_that_it_is_outdated(tmp_path: Path) -> None:
    folder = copied("registry", tmp_path)
    before = (folder / "ledger.db").read_bytes()
    with pytest.raises(LedgerUnavailable) as error:
        Ledger(folder / "ledger.db", read_only=True)
    assert error.value.reason == "outdated"
    assert (folder / "ledger.db").read_bytes() == before
