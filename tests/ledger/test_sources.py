"""A dataset is known by its source: another name for it does not give a fresh budget."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator import Curator
from quaestor.curator.accounts import open_from_catalog
from quaestor.curator.catalog.catalog_file import read_catalog
from quaestor.curator.catalog.source_digests import declared_of
from quaestor.errors import InvalidParameter, LedgerCorrupted, SourceKnown
from quaestor.ledger import DatasetDigests, Ledger
from quaestor.ledger.journal.chain import Chain
from quaestor.ledger.journal.events import Event
from tests.curator.hospital import write_hospital
from tests.ledger.places import around, definition

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.ledger import Account

COUNT = "SELECT COUNT(*) AS n FROM {}"
SMALL = """
[accounts.{}]
epsilon = 1.0
delta = 1e-6
{}
"""
A, B, C = (letter * 64 for letter in "abc")


def written(folder: Path, table: str, account: str, more: str = "", **changes: Any) -> Path:
    """A catalog in which the same file has this name."""
    path = write_hospital(folder, SMALL.format(account, more), **changes)
    text = path.read_text(encoding="utf-8").replace("tables.visits", f"tables.{table}")
    path.write_text(text, encoding="utf-8")
    return path


def kinds(account: Account) -> list[str]:
    return [event.dataset for event in account.declarations()]


def test_a_renamed_table_has_no_fresh_budget(ledger: Ledger, tmp_path: Path) -> None:
    catalog = read_catalog(written(tmp_path, "visits", "research"))
    with Curator(catalog, ledger=ledger) as curator:
        curator.open_account("research")
        curator.ask(COUNT.format("visits"), epsilon=0.9)
    renamed = read_catalog(written(tmp_path, "stays", "fresh"))
    with Curator(renamed, ledger=ledger) as curator:
        with pytest.raises(SourceKnown, match=r"'research'.*'visits'.*beside") as refused:
            curator.open_account("fresh")
        assert refused.value.fields() == {
            "account": "research",
            "dataset": "stays",
            "known_as": "visits",
        }
        with pytest.raises(InvalidParameter):
            curator.ask(COUNT.format("stays"), epsilon=0.9)
    ledger.account("research").close()
    with pytest.raises(SourceKnown):  # a closed account has spent what it has spent
        open_from_catalog(renamed, "fresh", ledger=ledger)
    assert [each.name for each in ledger.accounts()] == ["research"]


@pytest.mark.parametrize(
    "source",
    ['file = "./visits.parquet"', 'file = "{}/visits.parquet"', 'file = "link/visits.parquet"'],
)
def test_another_way_to_write_the_same_file_is_the_same_source(tmp_path: Path, source: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with Ledger(tmp_path / "ledger.db") as ledger:
        open_from_catalog(read_catalog(written(tmp_path, "visits", "a")), "a", ledger=ledger)
        again = written(tmp_path, "stays", "b", source=source.format(tmp_path))
        with pytest.raises(SourceKnown):
            open_from_catalog(read_catalog(again), "b", ledger=ledger)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('database = "a.duckdb"\ntable = "t"', 'database = "./a.duckdb"\ntable = "main.T"', True),
        ('database = "a.duckdb"\ntable = "t"', 'database = "a.duckdb"\ntable = "u"', False),
        ('environment = "CLINIC"\ntable = "t"', 'environment = "CLINIC"\ntable = "public.t"', True),
        ('environment = "CLINIC"\ntable = "t"', 'environment = "WARDS"\ntable = "t"', False),
        ('file = "v.parquet"', 'file = "v.parquet"\nmaster = "local[2]"', True),
        ('master = "local[2]"\ntable = "t"', 'master = "local[2]"\ntable = "default.T"', True),
    ],
)
def test_sources_of_every_engine_are_known_again(
    tmp_path: Path,
    one: str,
    other: str,
    same: bool,  # noqa: FBT001  # of a table of cases
) -> None:
    first, second = (
        declared_of(read_catalog(written(tmp_path, name, "a", source=source)), name)
        for name, source in (("visits", one), ("stays", other))
    )
    assert first is not None
    assert second is not None
    assert (first.sources == second.sources) is same
    assert first.declaration != second.declaration  # the table has another name


def test_a_source_among_others_is_known_again(ledger: Ledger, tmp_path: Path) -> None:
    open_from_catalog(read_catalog(written(tmp_path, "visits", "a")), "a", ledger=ledger)
    more = (
        '[tables.other]\nfile = "o.parquet"\nunit = "patient"\nrows = 1\ngroups = 1\n'
        'dataset = "stays"\ncolumns = { patient = "integer" }\n'
    )
    path = written(tmp_path, "stays", "b", more=more)
    with pytest.raises(SourceKnown):
        open_from_catalog(read_catalog(path), "b", ledger=ledger)


def test_beside_is_possible_and_meant(ledger: Ledger, tmp_path: Path) -> None:
    first = read_catalog(written(tmp_path, "visits", "research"))
    open_from_catalog(first, "research", ledger=ledger)
    renamed = read_catalog(written(tmp_path, "stays", "fresh", "beside = true"))
    with Curator(renamed, ledger=ledger) as curator:
        curator.open_account("fresh")
        curator.ask(COUNT.format("stays"), epsilon=0.1)
    with Curator(first, ledger=ledger) as curator:  # which was not opened beside anything
        curator.ask(COUNT.format("visits"), epsilon=0.1)
    ledger.verify()


def test_an_account_without_a_catalog_is_no_way_around(ledger: Ledger, tmp_path: Path) -> None:
    first = read_catalog(written(tmp_path, "visits", "research"))
    with Curator(first, ledger=ledger) as curator:
        curator.open_account("research")
    bare = ledger.open_account(definition("bare", datasets=("stays",)))
    renamed = read_catalog(written(tmp_path, "stays", "other"))
    with (
        Curator(renamed, ledger=ledger) as curator,
        pytest.raises(SourceKnown, match="'visits'"),
    ):
        curator.ask(COUNT.format("stays"), epsilon=0.1, account="bare")
    assert list(bare.entries()) == []
    assert bare.declarations() == ()


def test_a_dataset_of_the_same_account_is_no_way_around(ledger: Ledger, tmp_path: Path) -> None:
    both = ledger.open_account(definition("both", datasets=("visits", "stays"), beside=True))
    with Curator(read_catalog(written(tmp_path, "visits", "x")), ledger=ledger) as curator:
        curator.ask(COUNT.format("visits"), epsilon=0.1, account="both")
    with (
        Curator(read_catalog(written(tmp_path, "stays", "x")), ledger=ledger) as curator,
        pytest.raises(SourceKnown, match="name it 'visits'"),
    ):
        curator.ask(COUNT.format("stays"), epsilon=0.1, account="both")
    assert len(list(both.entries())) == 1


def test_another_source_under_the_name_is_no_way_around(ledger: Ledger, tmp_path: Path) -> None:
    open_from_catalog(read_catalog(written(tmp_path, "visits", "a")), "a", ledger=ledger)
    empty = written(tmp_path, "stays", "b", source='file = "nothing.parquet"')
    open_from_catalog(read_catalog(empty), "b", ledger=ledger)
    turned = read_catalog(written(tmp_path, "stays", "b"))
    with Curator(turned, ledger=ledger) as curator, pytest.raises(SourceKnown):
        curator.ask(COUNT.format("stays"), epsilon=0.1)
    assert list(ledger.account("b").entries()) == []


def test_a_changed_declaration_is_recorded_before_the_next_charge(
    ledger: Ledger, tmp_path: Path
) -> None:
    path = written(tmp_path, "visits", "research")
    with Curator(read_catalog(path), ledger=ledger) as curator:
        account = curator.open_account("research")
        curator.ask(COUNT.format("visits"), epsilon=0.1)
        curator.ask(COUNT.format("visits"), epsilon=0.2)
        assert kinds(account) == ["visits"]
    path.write_text(path.read_text(encoding="utf-8").replace("= 120", "= 110"), encoding="utf-8")
    with Curator(read_catalog(path), ledger=ledger) as curator:
        curator.preview(COUNT.format("visits"), epsilon=0.05)  # nothing is charged
        assert kinds(account) == ["visits"]
        curator.ask(COUNT.format("visits"), epsilon=0.05)
        curator.ask(COUNT.format("visits"), epsilon=0.04)
    before, after = account.declarations()
    assert before.declared.sources == after.declared.sources
    assert before.declared.declaration != after.declared.declaration
    found = [json.loads(line)["kind"] for line in ledger.export(account="research")]
    charges = [kind for kind in found if kind in {"opened", "declared", "reserved"}]
    opened = ["opened", "declared", "reserved", "reserved"]
    assert charges == [*opened, "declared", "reserved", "reserved"]
    (shown,) = account.standing().to_dict()["declared"]
    assert (shown["dataset"], shown["changes"], shown["time"]) == ("visits", 1, after.time)
    ledger.verify()


def test_an_account_of_before_is_declared_with_its_next_question(
    ledger: Ledger, tmp_path: Path
) -> None:
    old = ledger.open_account(definition("research", datasets=("visits",)))
    assert old.declarations() == ()
    with Curator(read_catalog(written(tmp_path, "visits", "research")), ledger=ledger) as curator:
        curator.ask(COUNT.format("visits"), epsilon=0.1)
    assert kinds(old) == ["visits"]
    with pytest.raises(SourceKnown):
        open_from_catalog(read_catalog(written(tmp_path, "stays", "fresh")), "fresh", ledger=ledger)


def test_the_ledger_alone_is_used_as_before(ledger: Ledger) -> None:
    account = ledger.open_account(definition())
    assert [json.loads(line)["kind"] for line in ledger.export()] == ["opened"]
    assert account.standing().to_dict()["declared"] == []
    one = DatasetDigests(declaration=A, sources=(B,))
    account.declare("patients", one)
    account.declare("patients", one)
    assert [event.declared for event in account.declarations()] == [one]
    other = ledger.open_account(
        definition("other", datasets=("people",)), declared={"people": DatasetDigests(A, (C,))}
    )
    with pytest.raises(SourceKnown):
        other.declare("people", DatasetDigests(A, (B,)))
    with pytest.raises(InvalidParameter, match="one of the account's: patients"):
        account.declare("strangers", one)
    with pytest.raises(InvalidParameter):
        DatasetDigests(declaration="no digest", sources=(B,))
    ledger.verify()


def test_of_many_who_open_accounts_on_one_source_at_once_one_succeeds(location: str) -> None:
    def opened(number: int) -> bool:
        dataset = f"people {number}"
        with Ledger(location) as ledger:
            try:
                ledger.open_account(
                    definition(f"account {number}", datasets=(dataset,)),
                    declared={dataset: DatasetDigests(A, (B,))},
                )
            except SourceKnown:
                return False
        return True

    Ledger(location).close()
    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(opened, range(8))) == 1
    with Ledger(location) as ledger:
        assert len(ledger.verify()) == 1


def test_of_many_who_ask_on_bare_accounts_at_once_one_has_the_source(location: str) -> None:
    with Ledger(location) as ledger:
        for number in range(4):
            ledger.open_account(definition(f"account {number}", datasets=(f"people {number}",)))

    def declared(number: int) -> bool:
        with Ledger(location) as ledger:
            account = ledger.account(f"account {number % 4}")
            try:
                account.declare(f"people {number % 4}", DatasetDigests(A, (B,)))
            except SourceKnown:
                return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(declared, range(8))) == 2  # twice the same account
    with Ledger(location) as ledger:
        ledger.verify()
        assert sum(len(each.declarations()) for each in ledger.accounts()) == 1


def test_a_declaration_cannot_be_changed_unseen(ledger: Ledger, location: str) -> None:
    ledger.open_account(definition(), declared={"patients": DatasetDigests(A, (B,))})
    ledger.verify()
    with around(location) as run:
        run(
            "UPDATE ledger_events SET detail = ? WHERE kind = 'declared'",
            DatasetDigests(A, (C,)).text,
        )
    with pytest.raises(LedgerCorrupted):
        ledger.verify()
    with around(location) as run:
        run("UPDATE ledger_events SET detail = '[]' WHERE kind = 'declared'")
    with pytest.raises(LedgerCorrupted):
        ledger.account("trial").declare("patients", DatasetDigests(C, (B,)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"detail": ""},
        {"detail": "{}"},
        {"detail": DatasetDigests(A, (B,)).text + " "},
        {"dataset": ""},
        {"entry": 1},
    ],
)
def test_a_chain_has_no_declaration_that_says_nothing(wrong: dict[str, str]) -> None:
    time = "2026-01-01T00:00:00.000000Z"
    opened = Event("trial", 1, "opened", time=time, detail="{}").sealed()
    right = Event(
        *("trial", 2, "declared"),
        time=time,
        dataset="patients",
        detail=DatasetDigests(A, (B,)).text,
        previous=opened.hash,
    )
    for event, broken in ((right, False), (right._replace(**wrong), True)):  # type: ignore[arg-type]
        chain = Chain("trial")
        chain.add(opened)
        if broken:
            with pytest.raises(LedgerCorrupted):
                chain.add(event.sealed())
        else:
            chain.add(event.sealed())
