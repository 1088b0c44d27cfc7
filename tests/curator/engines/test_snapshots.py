"""Prepared snapshots give the same figures, and are ignored where anything is doubtful."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pytest

from quaestor.curator.catalog import catalog_from_toml
from quaestor.curator.engines import engine_for
from quaestor.curator.engines.duckdb.snapshots import Snapshots, _is_ours
from quaestor.curator.pricing.offers import offer
from quaestor.curator.sql import parse
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from quaestor.curator.catalog.model import Catalog

_ROWS = (
    "SELECT (hash(i) % 40)::BIGINT AS unit, CASE WHEN i % 7 > 0 THEN 'ward ' || (hash(i * 3) % 5) "
    "END AS ward, (hash(i * 7) % 1000) / 10.0 AS cost, "
    "DATE '2024-01-01' + (i % 90)::INT AS day FROM range({}) AS r(i)"
)
_QUESTIONS = (
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward",
    "SELECT MEDIAN(cost) AS m, COUNT(DISTINCT ward) AS w FROM visits WHERE cost > 20",
    "SELECT EXTRACT(month FROM day) AS m, AVG(cost) AS c FROM visits GROUP BY 1",
)
_PLACES = {
    "database": 'database = "visits.duckdb"',
    "parquet": 'file = "visits.parquet"',
    "csv": 'file = "visits.csv"',
}


def _fill(folder: Path, rows: int = 3000) -> None:
    for path in folder.glob("visits.*"):
        path.unlink()
    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        connection.execute(f"CREATE TABLE visits AS {_ROWS.format(rows)}")
        for kind in ("parquet", "csv"):
            connection.execute(f"COPY visits TO '{folder}/visits.{kind}'")


def _catalog(folder: Path, place: str) -> Catalog:
    text = f"""
    [tables.visits]
    {_PLACES[place]}
    unit = "unit"
    rows = 3
    groups = 2
    total_rows = 30
    [tables.visits.columns]
    unit = "integer"
    ward = {{ kind = "text", keys = ["ward 0", "ward 1", "ward 2"] }}
    cost = {{ kind = "real", low = 0.0, high = 90.0, granularity = 0.1 }}
    day = {{ kind = "date" }}
    """
    return catalog_from_toml(text, folder=str(folder))


def _figures(
    catalog: Catalog, questions: tuple[str, ...] = _QUESTIONS[:1]
) -> tuple[list[object], bool]:
    """The exact figures of some questions, and whether a snapshot was read."""
    engine = engine_for(catalog, ["visits"])
    try:
        found: list[object] = []
        for sql in questions:
            exact = engine.prepare(offer(parse(sql, catalog), epsilon=1.0).measurement).exact()
            found.append((exact.units, list(exact.values.values())))
        connection = engine.connection
        return found, any(getattr(connection, "_copies", {}).values())
    finally:
        engine.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the table in three places."""
    _fill(tmp_path)
    return tmp_path


@pytest.mark.parametrize("place", _PLACES)
def test_a_snapshot_has_the_same_figures(place: str, folder: Path) -> None:
    catalog = _catalog(folder, place)
    before, used = _figures(catalog, _QUESTIONS)
    assert not used
    snapshots = Snapshots(catalog)
    note = snapshots.prepare("visits")
    assert snapshots.state("visits") == f"in use, as of {note.made}"
    assert _figures(catalog, _QUESTIONS) == (before, True)
    files = [snapshots.folder, *snapshots.folder.iterdir()]
    assert len(files) == 3
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    assert snapshots.remove("visits")
    assert list(snapshots.folder.iterdir()) == []
    assert _figures(catalog, _QUESTIONS) == (before, False)


@pytest.mark.parametrize("place", _PLACES)
def test_a_table_that_changed_is_read_itself(place: str, folder: Path) -> None:
    catalog = _catalog(folder, place)
    snapshots = Snapshots(catalog)
    snapshots.prepare("visits")
    _fill(folder, 2000)
    bare = _figures(_catalog(folder, place))
    assert not bare[1]
    assert "the table has changed" in snapshots.state("visits")
    snapshots.prepare("visits")
    assert _figures(catalog) == (bare[0], True)
    assert len(list(snapshots.folder.iterdir())) == 2


def test_a_table_that_changes_while_it_is_open_is_read_itself(folder: Path) -> None:
    catalog = _catalog(folder, "parquet")
    Snapshots(catalog).prepare("visits")
    engine = engine_for(catalog, ["visits"])
    asked = offer(parse("SELECT COUNT(*) AS n FROM visits", catalog), epsilon=1.0).measurement
    before = engine.prepare(asked).exact().values
    _fill(folder, 50)
    after = engine.prepare(asked).exact().values
    engine.close()
    assert before != after


def test_a_file_with_as_many_bytes_and_the_same_time_is_another(folder: Path) -> None:
    path = folder / "visits.csv"
    table = _catalog(folder, "csv").table("visits")
    assert table is not None
    snapshots = Snapshots(_catalog(folder, "csv"))
    path.write_text("unit,ward,cost,day\n" + "1,ward 1,9.0,2024-01-01\n" * 9000)
    snapshots.prepare("visits")
    assert snapshots.current(table) is not None
    seen, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1  # far from both ends
    path.write_bytes(data)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert snapshots.current(table) is None


def test_nobody_else_writes_to_a_database_whose_snapshot_is_looked_at(folder: Path) -> None:
    catalog = _catalog(folder, "database")
    Snapshots(catalog).prepare("visits")
    engine = engine_for(catalog, ["visits"])
    asked = offer(parse(_QUESTIONS[0], catalog), epsilon=1.0).measurement
    engine.prepare(asked).exact()
    path = str(folder / "visits.duckdb")
    writes = [sys.executable, "-c", "import duckdb, sys; duckdb.connect(sys.argv[1])", path]
    while_read = subprocess.run(writes, capture_output=True, check=False).returncode
    engine.close()
    assert while_read != 0
    assert subprocess.run(writes, capture_output=True, check=False).returncode == 0


def test_a_snapshot_of_another_file_has_no_constraint_of_the_open_one(folder: Path) -> None:
    catalog = _catalog(folder, "database")
    asked = offer(parse("SELECT COUNT(*) AS n FROM visits", catalog), epsilon=1.0).measurement
    columns = "unit BIGINT {}, ward VARCHAR, cost DOUBLE, day DATE"
    units, engine = [], None
    for key, unit in (("PRIMARY KEY", "i"), ("", "7")):
        with duckdb.connect(str(folder / "new.duckdb")) as connection:
            connection.execute(f"CREATE TABLE visits ({columns.format(key)})")
            connection.execute(f"INSERT INTO visits (unit) SELECT {unit} FROM range(20) AS r(i)")
        (folder / "new.duckdb").replace(folder / "visits.duckdb")
        Snapshots(catalog).prepare("visits")
        engine = engine or engine_for(catalog, ["visits"])
        units.append(engine.prepare(asked).exact().units)
    assert engine is not None
    engine.close()
    assert units == [[20], [1]]


def test_no_copy_is_left_that_no_note_names(folder: Path) -> None:
    snapshots = Snapshots(_catalog(folder, "parquet"))
    assert not snapshots.remove("visits")
    note = snapshots.prepare("visits")
    (kept,) = snapshots.folder.glob("*.json")
    left = [snapshots.folder / f"{at:032x}.duckdb{end}" for at in (1, 2) for end in ("", ".wal")]
    for path in left:  # as of processes that were killed
        path.write_bytes(b"rows")
    kept.with_name("0.json").write_text(json.dumps({"file": left[0].name}))  # of another table
    kept.write_text("{")  # damaged: nothing tells what its file was
    assert snapshots.remove("visits")
    assert set(snapshots.folder.iterdir()) == {left[0], kept.with_name("0.json")}
    assert snapshots.prepare("visits").file != note.file
    assert len(list(snapshots.folder.iterdir())) == 4


def _other(path: Path) -> None:
    """Another database, with another person's rows, under the same name."""
    path.unlink()
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE copied AS {_ROWS.format(10)}")
    path.chmod(0o600)


def _truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[:64] = bytes(64)
    path.write_bytes(data)


def _linked(path: Path) -> None:
    away = path.with_name("elsewhere")
    shutil.move(path, away)
    path.symlink_to(away)


def _open_to_others(path: Path) -> None:
    path.chmod(0o644)


def _gone(path: Path) -> None:
    path.unlink()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


_ATTACKS = (_other, _truncated, _overwritten, _linked, _open_to_others, _gone, _empty)


@pytest.mark.parametrize("attack", _ATTACKS)
@pytest.mark.parametrize("part", ["file", "note"])
def test_a_snapshot_that_was_tampered_with_is_ignored(
    attack: Callable[[Path], None], part: str, folder: Path
) -> None:
    catalog = _catalog(folder, "parquet")
    bare, _ = _figures(catalog)
    snapshots = Snapshots(catalog)
    note = snapshots.prepare("visits")
    path = snapshots.folder / note.file
    if part == "note":
        (path,) = snapshots.folder.glob("*.json")
    attack(path)
    assert _figures(catalog) == (bare, False)
    assert not snapshots.state("visits").startswith("in use")


def test_a_note_names_no_file_elsewhere(folder: Path) -> None:
    catalog = _catalog(folder, "parquet")
    snapshots = Snapshots(catalog)
    snapshots.prepare("visits")
    (path,) = snapshots.folder.glob("*.json")
    note = json.loads(path.read_text())
    for other in ("../visits.duckdb", str(folder / "visits.duckdb"), 7, "visits.duckdb"):
        path.write_text(json.dumps({**note, "file": other}))
        assert snapshots.current(catalog.table("visits")) is None  # type: ignore[arg-type]


def test_a_folder_that_others_may_enter_is_not_trusted(folder: Path) -> None:
    catalog = _catalog(folder, "parquet")
    snapshots = Snapshots(catalog)
    snapshots.prepare("visits")
    snapshots.folder.chmod(0o755)
    assert not _figures(catalog)[1]
    with pytest.raises(InvalidParameter, match="mode 700"):
        snapshots.prepare("visits")
    snapshots.folder.chmod(0o700)
    shutil.move(snapshots.folder, folder / "moved")
    snapshots.folder.symlink_to(folder / "moved")
    assert not _figures(catalog)[1]


def test_a_file_of_somebody_else_is_not_trusted() -> None:
    def seen(owner: int) -> os.stat_result:
        return os.stat_result((0o100600, 0, 0, 1, owner, 0, 1, 0, 0, 0))

    assert _is_ours(seen(os.geteuid()))
    assert not _is_ours(seen(os.geteuid() + 1))
