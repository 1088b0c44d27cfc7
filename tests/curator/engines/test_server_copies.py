"""Copies of PostgreSQL's tables give the same figures, as of when they were made; or none do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from quaestor.curator.catalog import catalog_from_toml
from quaestor.curator.catalog.model import ColumnFacts, Source
from quaestor.curator.engines import engine_for, tables_of
from quaestor.curator.engines.duckdb.server_copies import CopiesConnection
from quaestor.curator.engines.duckdb.snapshots import Snapshots
from quaestor.curator.prepared_tables import prepare_table, remove_copy
from quaestor.curator.pricing.offers import offer
from quaestor.curator.session import Curator
from quaestor.curator.sql import parse
from quaestor.errors import QuaestorError, SourceUnavailable
from quaestor.ledger import Ledger
from tests.curator.engines.answers import answer, in_order
from tests.curator.engines.conftest import VARIABLE
from tests.curator.engines.data import catalog_on
from tests.curator.engines.queries import CASES
from tests.curator.engines.random_queries import random_measures, random_query
from tests.curator.engines.storage import KINDS, apart, asked, catalog, postgres_pairs
from tests.curator.engines.test_order import _NAMES
from tests.curator.engines.test_snapshots import _linked, _open_to_others, _other

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.engines import Engine
    from tests.curator.engines.storage import Pair

_PLACE = "QUAESTOR_TEST_COPIED"
_ROWS = (
    "INSERT INTO visits SELECT i % {0}, CASE WHEN i % 7 > 0 THEN 'ward ' || i * 31 % 5 END, "
    "(i * 7919 % 1000) / 10.0, DATE '2024-01-01' + i % 90 FROM generate_series(1, {1}) AS r(i)"
)
_QUESTION = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward"
_CATALOG = """
ledger = "ledger.db"
[tables.visits]
environment = "QUAESTOR_TEST_COPIED"
unit = "unit"
rows = 3
groups = 2
total_rows = 20
[tables.visits.columns]
unit = "integer"
ward = { kind = "text", keys = ["ward 0", "ward 1", "ward 2"] }
cost = { kind = "real", low = 0.0, high = 90.0, granularity = 0.1 }
day = { kind = "date" }
[tables.wards]
environment = "QUAESTOR_TEST_COPIED"
public = true
[tables.wards.columns]
name = "text"
[accounts.research]
datasets = ["visits"]
policy = "open"
epsilon = 1000.0
delta = 1e-6
"""


def _execute(*statements: str) -> None:
    with psycopg.connect(os.environ[_PLACE], autocommit=True) as connection:
        for sql in statements:
            connection.execute(sql.encode())


@pytest.fixture(scope="module")
def copied_address(postgres_address: str) -> Iterator[str]:
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE copied")
    with pytest.MonkeyPatch.context() as environment:
        address = postgres_address.replace("/postgres?", "/copied?")
        environment.setenv(_PLACE, address)
        yield address


@pytest.fixture
def visits(copied_address: str, tmp_path: Path) -> Catalog:
    """A table of 40 people on the server, and where its copies are."""
    assert copied_address
    _execute(
        "DROP TABLE IF EXISTS visits, wards",
        "CREATE TABLE visits (unit bigint, ward text, cost double precision, day date)",
        "CREATE TABLE wards (name text)",
        "INSERT INTO wards VALUES ('ward 0'), ('ward 1')",
        _ROWS.format(40, 1200),
    )
    return catalog_from_toml(_CATALOG, folder=str(tmp_path))


def _figures(where: Catalog, sql: str = _QUESTION) -> tuple[object, bool]:
    """The exact figures of a question, and whether a copy was read."""
    question = parse(sql, where)
    engine = engine_for(where, tuple(tables_of(question.rows)))
    try:
        exact = engine.prepare(offer(question, epsilon=1.0).measurement).exact()
        copied = isinstance(engine.connection, CopiesConnection)
        return (exact.units, list(exact.values.values())), copied
    finally:
        engine.close()


# The same figures


@pytest.fixture(scope="module")
def copied_engine(
    clinic_address: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """Copies of the private tables of the clinic."""
    assert clinic_address
    where = catalog_on(Source(engine="postgres", connection=VARIABLE))
    where = replace(where, folder=str(tmp_path_factory.mktemp("copies")))
    private = [table.name for table in where.tables if table.private]
    for name in private:
        Snapshots(where).prepare(name)
    engine = engine_for(where, private)
    assert isinstance(engine.connection, CopiesConnection)
    yield engine
    engine.close()


_CASES = [
    pytest.param(name, marks=() if name in _NAMES else pytest.mark.slow)
    for name, (query, _) in CASES.items()
    if "wards" not in set(tables_of(query.rows))
]


@pytest.mark.parametrize("name", _CASES)
def test_copies_measure_what_the_server_does(
    name: str, copied_engine: Engine, postgres_engine: Engine
) -> None:
    query, measures = CASES[name]
    found = in_order(answer(copied_engine, query, measures))
    assert found == in_order(answer(postgres_engine, query, measures))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_random_questions_have_the_same_figures(
    seed: int, copied_engine: Engine, postgres_engine: Engine
) -> None:
    query, measures = random_query(seed), random_measures(seed, 6)
    found = in_order(answer(copied_engine, query, measures))
    assert found == in_order(answer(postgres_engine, query, measures))


@pytest.fixture(scope="module")
def stored(postgres_address: str) -> Iterator[list[Pair]]:
    """Tables of every type, with one extreme person and without."""
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE copied_types")
    address = postgres_address.replace("/postgres?", "/copied_types?")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("QUAESTOR_TEST_TYPES", address)
        yield postgres_pairs(address, "QUAESTOR_TEST_TYPES")


def _differences(pair: Pair, folder: Path) -> Iterator[str]:
    """Where a copy differs from its table, or neighbours by more than they may."""
    for variant in KINDS:
        neighbours: dict[str, list[Any]] = {}
        for place, source in enumerate((pair.without, pair.hostile)):
            live = catalog(source, (variant.facts,))
            at = folder / f"{pair.name} {variant.name} {place}".replace("/", " ")
            at.mkdir()
            copied = replace(live, folder=str(at))
            for sql in variant.questions:
                on_server = asked(live, sql)
                try:
                    Snapshots(copied).prepare("t")
                except QuaestorError as refusal:
                    if not isinstance(on_server, tuple):
                        yield f"{pair.name} as {variant.name}: {refusal}"
                    break
                on_copy = asked(copied, sql)
                if on_copy != on_server:
                    yield f"{pair.name} as {variant.name}: {on_server} but {on_copy}: {sql}"
                neighbours.setdefault(sql, []).append(on_copy)
        for both in neighbours.values():
            yield from apart(*both)


@pytest.mark.slow
def test_values_of_all_types_are_copied_as_they_are(stored: list[Pair], tmp_path: Path) -> None:
    assert [it for pair in stored for it in _differences(pair, tmp_path)] == []


@pytest.mark.slow
def test_people_are_told_apart_in_copies_too(stored: list[Pair], tmp_path: Path) -> None:
    facts = (ColumnFacts(name="y", kind="integer", low=0.0, high=1000.0, granularity=1.0),)
    for number, pair in enumerate(stored):
        counts = ", ".join(f"COUNT_IF(y = {place}) AS c{place}" for place in range(pair.values))
        sql = f"SELECT COUNT(DISTINCT id) AS u, {counts} FROM t"
        for kind in ("integer", "text"):
            assert pair.units is not None
            live = catalog(pair.units, facts, kind)
            copied = replace(live, folder=str(tmp_path / f"{number}{kind}"))
            (tmp_path / f"{number}{kind}").mkdir()
            on_server = asked(live, sql)
            if isinstance(on_server, tuple):
                with pytest.raises(QuaestorError):
                    Snapshots(copied).prepare("t")
            else:
                Snapshots(copied).prepare("t")
                assert asked(copied, sql) == on_server, pair.name


# As of when they were made


def test_a_copy_is_read_as_of_when_it_was_made(visits: Catalog) -> None:
    before, copied = _figures(visits)
    assert not copied
    snapshots = Snapshots(visits)
    note = snapshots.prepare("visits")
    assert snapshots.state("visits") == f"in use, as of {note.made}"
    files = [snapshots.folder, *snapshots.folder.iterdir()]
    assert len(files) == 3
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    _execute(_ROWS.format(60, 3000))
    live, _ = _figures(replace(visits, folder=""))
    assert live != before
    assert _figures(visits) == (before, True)
    snapshots.prepare("visits")
    assert _figures(visits) == (live, True)
    assert len([*snapshots.folder.iterdir()]) == 2
    assert snapshots.remove("visits")
    assert _figures(visits) == (live, False)
    assert [*snapshots.folder.iterdir()] == []


def test_answers_and_the_ledger_say_as_of_when_it_is(visits: Catalog, tmp_path: Path) -> None:
    assert prepare_table(visits, "visits") == ()  # nobody has opened an account yet
    first = Snapshots(visits).state("visits").rpartition(" ")[2]
    joined = _QUESTION.replace("visits", "visits JOIN wards ON ward = wards.name")
    with Curator(visits) as curator:
        curator.open_account("research")
        one = curator.ask(_QUESTION, epsilon=1.0, anew=True)
        assert f"Computed on the data owner's copy of visits, as of {first}." in one.notes
        assert one.data_version == ""
        assert prepare_table(visits, "visits") == ("research",)
        second = Snapshots(visits).state("visits").rpartition(" ")[2]
        assert second > first
        other = curator.ask(_QUESTION, epsilon=1.0, anew=True)  # at once, of a curator that is open
        assert f"Computed on the data owner's copy of visits, as of {second}." in other.notes
        assert other.data_version == second
        again = curator.ask(_QUESTION, epsilon=1.0)
        assert again.repeated
        assert f"Computed on the data owner's copy of visits, as of {second}." in again.notes
        assert "copy" not in " ".join(
            curator.ask(joined, epsilon=1.0, anew=True).notes
        )  # not all have copies
        assert remove_copy(visits, "visits", Snapshots(visits)) == ("research",)
        assert remove_copy(visits, "visits", Snapshots(visits)) == ()  # there is none any more
        live = curator.ask(_QUESTION, epsilon=1.0, anew=True)
        assert "copy" not in " ".join(live.notes)
        assert live.data_version.startswith("on the server since ")  # not that of the copy
    with Ledger(str(tmp_path / "ledger.db")) as ledger:
        labels = [each.label for each in ledger.account("research").data_versions()]
        assert labels == [second, live.data_version]


def test_a_curator_does_not_keep_deleted_copies_open(visits: Catalog) -> None:
    Snapshots(visits).prepare("visits")
    with Curator(visits) as curator:
        curator.open_account("research")
        for change in (Snapshots(visits).prepare, Snapshots(visits).remove):
            curator.ask(_QUESTION, epsilon=1.0, anew=True)
            change("visits")
        curator.ask(_QUESTION, epsilon=1.0, anew=True)
        assert not [name for name in _open_files() if ".duckdb" in name and "(deleted)" in name]


def _open_files() -> Iterator[str]:
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            yield os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115
        except OSError:
            continue


# Of what it is, and for whom


def _with_column(where: Catalog, **changes: Any) -> Catalog:
    (visits,) = (table for table in where.tables if table.name == "visits")
    *others, day = visits.columns
    table = replace(visits, columns=(*others, replace(day, **changes)))
    return replace(where, tables=(table,))


def test_a_copy_of_another_definition_is_ignored(visits: Catalog) -> None:
    Snapshots(visits).prepare("visits")
    for other in (_with_column(visits, kind="timestamp"), _with_column(visits, name="DAY")):
        assert not _figures(other)[1]
        assert "columns are others" in Snapshots(other).state("visits")
        assert "prepare it again" in Snapshots(other).state("visits")
    assert _figures(_with_column(visits, keys=("2024-01-01",)))[1]  # limits are not in the copy


def test_a_copy_of_another_server_or_user_is_ignored(
    visits: Catalog, copied_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Snapshots(visits).prepare("visits")
    table = visits.table("visits")
    assert table is not None
    for changed in (
        copied_address.replace("/copied?", "/postgres?"),
        copied_address.replace("postgres:", "reader:", 1),
        f"{copied_address}&options=-csearch_path%3Dother",
        "not an address",
        "",
    ):
        assert changed != copied_address
        monkeypatch.setenv(_PLACE, changed)
        assert Snapshots(visits).current(table) is None, changed
    monkeypatch.setenv(_PLACE, copied_address.replace("postgres:@", "postgres:secret@", 1))
    assert Snapshots(visits).current(table) is not None
    (note,) = Snapshots(visits).folder.glob("*.json")
    assert "secret" not in note.read_text()
    monkeypatch.setenv("PGSERVICEFILE", "others.conf")  # what a service is called, others are too
    assert Snapshots(visits).current(table) is None


def test_a_copy_holds_the_rows_that_its_user_may_read(
    visits: Catalog, copied_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _execute(
        "DROP ROLE IF EXISTS reader",
        "CREATE ROLE reader LOGIN",
        "GRANT SELECT ON visits TO reader",
        "ALTER TABLE visits ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY ten ON visits FOR SELECT TO reader USING (unit < 10)",
    )
    try:
        Snapshots(visits).prepare("visits")
        everybody = _figures(visits)
        monkeypatch.setenv(_PLACE, copied_address.replace("postgres:", "reader:", 1))
        some, copied = _figures(visits)
        assert not copied
        assert some != everybody[0]
        Snapshots(visits).prepare("visits")
        assert _figures(visits) == (some, True)
    finally:
        monkeypatch.setenv(_PLACE, copied_address)
        _execute("DROP TABLE visits", "DROP ROLE reader")


def test_what_cannot_be_copied_is_refused_with_a_reason(visits: Catalog) -> None:
    for other, word in (
        (_with_column(visits, name="night"), "has no column 'night'"),
        (_with_column(visits, kind="boolean"), "correct the kind"),
        (
            _with_column(visits, kind="real", low=0.0, high=1e-9, granularity=1e-12),
            "declare a larger one",
        ),
        (
            replace(visits, tables=(replace(_with_column(visits).tables[0], unit="day"),)),
            "declare it as text",
        ),
    ):
        with pytest.raises(SourceUnavailable, match=word):
            Snapshots(other).prepare("visits")
        assert [*Snapshots(visits).folder.iterdir()] == []


def test_one_that_cannot_be_finished_leaves_the_earlier_one(visits: Catalog) -> None:
    snapshots = Snapshots(visits)
    note = snapshots.prepare("visits")
    files = {*snapshots.folder.iterdir()}
    _execute(
        "ALTER TABLE visits RENAME TO rows_of_visits",
        "CREATE VIEW visits AS SELECT unit / (unit - 39) AS unit, ward, cost, day "
        "FROM rows_of_visits",
    )
    try:
        with pytest.raises(SourceUnavailable, match="could not be copied"):
            snapshots.prepare("visits")
    finally:
        _execute("DROP VIEW visits", "DROP TABLE rows_of_visits")
    assert snapshots.state("visits") == f"in use, as of {note.made}"
    assert {*snapshots.folder.iterdir()} == files


# Attacks


@pytest.mark.parametrize("attack", [_other, _linked, _open_to_others])
def test_a_copy_that_was_tampered_with_is_ignored(
    attack: Callable[[Path], None], visits: Catalog
) -> None:
    snapshots = Snapshots(visits)
    attack(snapshots.folder / snapshots.prepare("visits").file)
    assert not _figures(visits)[1]
    assert not snapshots.state("visits").startswith("in use")


def test_two_who_prepare_at_once_leave_one_copy(visits: Catalog) -> None:
    snapshots = Snapshots(visits)
    bare, _ = _figures(visits)
    with ThreadPoolExecutor(4) as pool:
        notes = [*pool.map(lambda _: Snapshots(visits).prepare("visits"), range(4))]
    assert {path.suffix for path in snapshots.folder.iterdir()} == {".json", ".duckdb"}
    assert len([*snapshots.folder.iterdir()]) == 2
    assert snapshots.state("visits").rpartition(" ")[2] in {each.made for each in notes}
    assert _figures(visits) == (bare, True)


_PREPARES = """
import sys
from quaestor.curator.catalog import catalog_from_toml
from quaestor.curator.engines.duckdb.snapshots import Snapshots
Snapshots(catalog_from_toml(sys.argv[1], folder=sys.argv[2])).prepare("visits")
"""


def test_what_a_killed_process_left_is_not_read_and_is_deleted(
    visits: Catalog, tmp_path: Path
) -> None:
    snapshots = Snapshots(visits)
    bare, _ = _figures(visits)
    with psycopg.connect(os.environ[_PLACE]) as connection:
        connection.execute("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")
        process = subprocess.Popen([sys.executable, "-c", _PREPARES, _CATALOG, str(tmp_path)])
        while not [*snapshots.folder.glob("*.rows")]:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        connection.rollback()
    (left,) = snapshots.folder.iterdir()
    assert left.stat().st_mode & 0o077 == 0
    assert _figures(visits) == (bare, False)
    snapshots.prepare("visits")
    assert _figures(visits) == (bare, True)
    assert not left.exists()
    assert len([*snapshots.folder.iterdir()]) == 2
