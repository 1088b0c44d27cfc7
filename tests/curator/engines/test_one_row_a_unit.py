"""Where the schema enforces one row a unit, nothing is added up by unit; figures are the same."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb
import pytest

from quaestor.curator.catalog import catalog_from_toml
from quaestor.curator.engines import Engine, engine_for
from quaestor.curator.engines.duckdb.connection import DuckConnection
from quaestor.curator.engines.duckdb.read_lock import ReadLock
from quaestor.curator.language.query import Union
from quaestor.curator.pricing.offers import offer
from quaestor.curator.sql import parse

if TYPE_CHECKING:
    from pathlib import Path

_ROWS = (
    "SELECT {} AS unit, CASE WHEN i % 7 > 0 THEN 'ward ' || (hash(i) % 5) END AS ward, "
    "CASE WHEN i % 11 > 0 THEN (hash(i * 7) % 1000) / 10.0 END AS cost FROM range(200) AS r(i)"
)
_WHOLE, _TEXT = "i", "'p' || i"
_SCHEMAS = {  # the unit, its type and kind, and whether the schema is believed
    "primary key": ("unit {} PRIMARY KEY", _WHOLE, "BIGINT", "integer", True),
    "small numbers": ("unit {} PRIMARY KEY", _WHOLE, "SMALLINT", "integer", True),
    "unique": ("unit {} UNIQUE", "CASE WHEN i > 20 THEN i END", "INTEGER", "integer", True),
    "text key": ("unit {} PRIMARY KEY", _TEXT, "VARCHAR", "text", True),
    "no key": ("unit {}", "i // 3", "BIGINT", "integer", False),
    "not null": ("unit {} NOT NULL", "i // 3", "BIGINT", "integer", False),
    "key of two": ("unit {}, PRIMARY KEY (unit, cost)", "i % 50", "BIGINT", "integer", False),
    "numbers in texts": (
        "unit {} PRIMARY KEY",
        "CASE WHEN i % 2 = 0 THEN '' ELSE '0' END || (i // 2)",
        "VARCHAR",
        "integer",
        False,
    ),
}
_QUESTIONS = (
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, COUNT(cost) AS c FROM t GROUP BY ward",
    "SELECT COUNT(DISTINCT unit) AS u, AVG(cost) AS m, MEDIAN(cost) AS d FROM t WHERE cost > 9",
)


@pytest.mark.parametrize("which", _SCHEMAS)
def test_figures_are_those_without_a_constraint(which: str, tmp_path: Path) -> None:
    column, unit, stored, kind, believed = _SCHEMAS[which]
    rows = _ROWS.format(unit)
    if which == "key of two":
        numbered = rows.replace("FROM range", ", i FROM range")
        rows = f"SELECT unit, ward, COALESCE(cost, -1) + i / 1e4 AS cost FROM ({numbered})"
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE bare AS {rows}")
        connection.execute(
            "CREATE TABLE t (ward VARCHAR, cost DOUBLE, " + column.format(stored) + ")"
        )
        connection.execute("INSERT INTO t BY NAME SELECT * FROM bare")
    found = {}
    for name in ("t", "bare"):
        text = f"""
        [tables.t]
        database = "t.duckdb"
        table = "{name}"
        unit = "unit"
        rows = 2
        groups = 1
        [tables.t.columns]
        unit = "{kind}"
        ward = {{ kind = "text", keys = ["ward 0", "ward 1", "ward 2"] }}
        cost = {{ kind = "real", low = 0.0, high = 90.0, granularity = 0.1 }}
        """
        catalog = catalog_from_toml(text, folder=str(tmp_path))
        engine = engine_for(catalog, ["t"])
        made = [
            engine.prepare(offer(parse(sql, catalog), epsilon=1.0).measurement)
            for sql in _QUESTIONS
        ]
        exact = [each.exact() for each in made]
        engine.close()
        found[name] = [(each.units, list(each.values.values())) for each in exact]
        grouped = "GROUP BY u" in made[0].statements[0].sql
        assert grouped == (name == "bare" or not believed)
    assert found["t"] == found["bare"]


def test_rows_that_questions_multiply_are_added_up_by_unit(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (unit BIGINT PRIMARY KEY, cost BIGINT)")
        connection.execute("INSERT INTO t SELECT i, 1 FROM range(9) AS r(i)")
        connection.execute("CREATE TABLE p AS SELECT 1 AS price, i AS n FROM range(5) AS r(i)")
    text = """
    [tables.t]
    database = "t.duckdb"
    unit = "unit"
    rows = 2
    groups = 1
    total_rows = 3
    [tables.t.columns]
    unit = "integer"
    cost = { kind = "integer", low = 0, high = 5 }
    [tables.p]
    database = "t.duckdb"
    public = true
    [tables.p.columns]
    price = { kind = "integer", low = 0, high = 5 }
    n = { kind = "integer", low = 0, high = 5 }
    """
    catalog = catalog_from_toml(text, folder=str(tmp_path))
    engine = engine_for(catalog, ["t", "p"])
    for rows in ("t", "t JOIN p ON t.cost = p.price", "t AS a JOIN t AS b ON a.unit = b.unit"):
        sql = f"SELECT COUNT(*) AS n FROM {rows}"
        asked = offer(parse(sql, catalog), epsilon=1.0).measurement
        if rows == "t":
            asked = replace(asked, rows=Union((asked.rows, asked.rows)))
        made = engine.prepare(asked)
        assert "GROUP BY u" in made.statements[0].sql
        (values,) = made.exact().values.values()
        assert 0 < max(values) <= 9 * 2
    engine.close()


def test_a_key_of_another_table_is_not_believed(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE Épreuve (unit BIGINT PRIMARY KEY)")  # another for DuckDB
        connection.execute("CREATE TABLE épreuve AS SELECT 7 AS unit FROM range(9)")
    text = """
    [tables.t]
    database = "t.duckdb"
    table = "épreuve"
    unit = "unit"
    rows = 1
    groups = 1
    [tables.t.columns]
    unit = "integer"
    """
    catalog = catalog_from_toml(text, folder=str(tmp_path))
    engine = engine_for(catalog, ["t"])
    asked = offer(parse("SELECT COUNT(*) AS n FROM t", catalog), epsilon=1.0).measurement
    assert [*engine.prepare(asked).exact().values.values()] == [[1]]


_PEOPLE = """
[tables.t]
database = "t.duckdb"
unit = "unit"
rows = 1
groups = 1
[tables.t.columns]
unit = "integer"
cost = { kind = "real", low = 0.0, high = 90.0, granularity = 0.1 }
"""
_WRITE_DUPLICATES = """
import duckdb, sys
with duckdb.connect(sys.argv[1]) as connection:
    for statement in (
        "PRAGMA force_compression = 'uncompressed'",
        "CREATE TABLE filler AS SELECT random() AS x FROM range(2000000)",  # so that it stays long
        "CHECKPOINT",
        "DROP TABLE t",
        "CHECKPOINT",
        "CREATE TABLE t AS SELECT 7::BIGINT AS unit, 1.0::DOUBLE AS cost FROM range(200000)",
        "CHECKPOINT",
    ):
        connection.execute(statement)
"""


def _people(folder: Path) -> Path:
    """A database file with a primary key, whose blocks of rows another table would fit into."""
    path = folder / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("PRAGMA force_compression = 'uncompressed'")
        connection.execute("CREATE TABLE t (unit BIGINT PRIMARY KEY, cost DOUBLE)")
        connection.execute("INSERT INTO t SELECT i, 1.0 FROM range(200000) AS r(i)")
    return path


def test_nobody_writes_duplicates_after_another_engine_closed_the_file(tmp_path: Path) -> None:
    path = _people(tmp_path)
    catalog = catalog_from_toml(_PEOPLE, folder=str(tmp_path))
    asked = offer(parse("SELECT COUNT(*) AS n FROM t WHERE cost > 0", catalog), epsilon=1.0)
    engine, other = engine_for(catalog, ["t"]), engine_for(catalog, ["t"])
    made = engine.prepare(asked.measurement)
    assert "GROUP BY u" not in made.statements[0].sql
    other.prepare(asked.measurement)
    other.close()  # which gives up DuckDB's lock, for it belongs to the process
    with duckdb.connect(str(path), read_only=True):
        pass
    writes = [sys.executable, "-c", _WRITE_DUPLICATES, str(path)]
    refused = subprocess.run(writes, capture_output=True, check=False).returncode
    figures = "COUNT(DISTINCT unit), COUNT(*)"
    assert engine.connection.rows(f"SELECT {figures} FROM attached0.main.t") == [(200000, 200000)]
    assert made.exact().units == [200000]
    assert refused != 0
    engine.close()
    assert subprocess.run(writes, capture_output=True, check=False).returncode == 0


def test_a_file_that_cannot_be_locked_enforces_nothing(tmp_path: Path) -> None:
    path = _people(tmp_path)
    catalog = catalog_from_toml(_PEOPLE, folder=str(tmp_path))
    asked = offer(parse("SELECT COUNT(*) AS n FROM t", catalog), epsilon=1.0).measurement
    with path.open("r+b") as writer:
        fcntl.lockf(writer, fcntl.LOCK_EX)  # of this process: DuckDB does not notice it
        engine = engine_for(catalog, ["t"])
        made = engine.prepare(asked)
        assert "GROUP BY u" in made.statements[0].sql
        assert made.exact().units == [200000]
        engine.close()


def test_a_statement_that_runs_keeps_the_lock_though_the_engine_is_closed(tmp_path: Path) -> None:
    path = _people(tmp_path)
    catalog = catalog_from_toml(_PEOPLE, folder=str(tmp_path))
    asked = offer(parse("SELECT COUNT(*) AS n FROM t", catalog), epsilon=1.0).measurement
    connection = DuckConnection(catalog)
    engine = Engine(catalog=catalog, connection=connection)
    assert engine.prepare(asked).exact().units == [200000]
    writes = [sys.executable, "-c", "import duckdb, sys; duckdb.connect(sys.argv[1])", str(path)]
    with connection._asked("SELECT 1"):
        engine.close()
        with path.open("rb"):
            pass  # which gives up DuckDB's lock
        assert subprocess.run(writes, capture_output=True, check=False).returncode != 0
    assert subprocess.run(writes, capture_output=True, check=False).returncode == 0


def test_a_lock_tells_whether_its_file_was_replaced(tmp_path: Path) -> None:
    path = _people(tmp_path)
    lock = ReadLock(str(path))
    assert lock.held
    assert lock.is_on(str(path))
    path.rename(path.with_name("moved"))
    assert not lock.is_on(str(path))
    _people(tmp_path)
    assert not lock.is_on(str(path))
