"""Nothing that an engine says reaches anybody; what is public is said with its remedy."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.engines import engine_for, tables_of
from quaestor.curator.kernel.measures import Measure, RowCount, Units
from quaestor.curator.language.expressions import (
    Arithmetic,
    Call,
    Cast,
    Column,
    Comparison,
    Constant,
    Keyed,
)
from quaestor.curator.language.query import Filtered, Join, Projected, Relation, Scan
from quaestor.errors import EngineFailed, InvalidParameter, SourceUnavailable
from tests.curator.engines.answers import measured, measurement_of, statements
from tests.curator.engines.data import CATALOG, COLUMNS, catalog_on
from tests.curator.engines.queries import asked, key, total

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.engines import Engine
    from quaestor.curator.language.expressions import Expression

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

_NAME = "Jane Doe, 1965"


def _duckdb(path: Path, sql: str) -> Source:
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute(sql)
    return Source(engine="duckdb", connection=str(path), table="secrets")


def _catalog(source: Source, kind: str = "text") -> Catalog:
    facts = (
        ColumnFacts(name="id", kind="integer"),
        ColumnFacts(name="name", kind=kind),  # type: ignore[arg-type]
    )
    return Catalog(
        ledger="", tables=(Table(name="secrets", source=source, columns=facts, unit="id"),)
    )


def test_whatever_goes_wrong_in_the_engine_looks_the_same(tmp_path: Path) -> None:
    """A view that fails on one row: its error quotes the name, ours does not."""
    source = _duckdb(
        tmp_path / "a.duckdb",
        "CREATE TABLE people AS SELECT 1 AS id, 'Jane Doe, 1965' AS name; "
        "CREATE VIEW secrets AS SELECT id, name::INTEGER::VARCHAR AS name FROM people",
    )
    engine = engine_for(_catalog(source), ["secrets"])
    query = asked("secrets", unit="id")
    with pytest.raises(EngineFailed) as failure:
        measured(engine, query, [Units(), RowCount(rows=1, operand=Column("name"))])
    error = failure.value
    assert str(error) == str(EngineFailed())
    assert error.__context__ is None
    assert error.__cause__ is None
    assert error.fields() == {}
    assert _NAME not in repr(error)
    engine.close()


def test_postgres_answers_again_after_it_failed(postgres_address: str) -> None:
    import psycopg

    os.environ["QUAESTOR_TEST_FAILING"] = postgres_address
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE TABLE numbers AS SELECT 1 AS id, '0' AS name")
        connection.execute(
            "CREATE VIEW secrets AS SELECT id, (1 / name::integer)::text AS name FROM numbers"
        )
        source = Source(engine="postgres", connection="QUAESTOR_TEST_FAILING", table="secrets")
        engine = engine_for(_catalog(source), ["secrets"])
        query, measures = asked("secrets", unit="id"), [RowCount(rows=1, operand=Column("name"))]
        with pytest.raises(EngineFailed) as failure:
            measured(engine, query, measures)
        assert failure.value.__context__ is None
        connection.execute("UPDATE numbers SET name = '1'")
        assert measured(engine, query, measures).units == [1]
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND query LIKE '%secrets%'"
        )
        with pytest.raises(EngineFailed):
            measured(engine, query, measures)
        assert measured(engine, query, measures).units == [1]
        engine.close()
        connection.execute("DROP VIEW secrets; DROP TABLE numbers")
    del os.environ["QUAESTOR_TEST_FAILING"]


def test_postgres_is_only_read(postgres_engine: Engine) -> None:
    import psycopg

    connection = postgres_engine.connection
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.rows("CREATE TABLE mine (x integer)")


def test_duckdb_files_are_only_read(duckdb_engine: Engine) -> None:
    import duckdb

    statements(duckdb_engine, asked("visits"), [Units()])
    connection = duckdb_engine.connection
    with pytest.raises(duckdb.InvalidInputException, match="read-only"):
        connection.rows("DELETE FROM attached0.main.visits")


def test_measures_do_not_show_themselves(duckdb_engine: Engine) -> None:
    found = measured(duckdb_engine, asked("visits"), [Units()])
    assert repr(found) == str(found) == "Exact(private)"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (Source(engine="postgres", connection="QUAESTOR_NOT_SET", table="t"), "QUAESTOR_NOT_SET"),
        (
            Source(engine="postgres", connection="QUAESTOR_TEST_BAD", table="t"),
            "no PostgreSQL server",
        ),
        (Source(engine="duckdb", connection="nowhere.duckdb", table="t"), "nowhere.duckdb"),
        (Source(engine="duckdb", table="t"), "no DuckDB file"),
        (Source(engine="duckdb"), "neither a table nor files"),
        (Source(engine="duckdb", files="nowhere/*.parquet"), "no file matches"),
        (Source(engine="duckdb", files="notes.docx"), r"must end with \.parquet"),
    ],
)
def test_what_cannot_be_reached_is_named_without_passwords(
    source: Source, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("QUAESTOR_TEST_BAD", "postgresql://me:hunter2@127.0.0.1:1/none")
    catalog = replace(_catalog(source), folder=str(tmp_path))
    with pytest.raises(SourceUnavailable, match=says) as failure:
        statements(engine_for(catalog, ["secrets"]), asked("secrets", unit="id"), [Units()])
    assert "hunter2" not in str(failure.value)
    assert failure.value.__context__ is None
    assert failure.value.fields()["table"] == "secrets"


def test_tables_that_are_not_what_the_catalog_says_are_refused(tmp_path: Path) -> None:
    source = _duckdb(
        tmp_path / "b.duckdb",
        "CREATE TABLE secrets AS SELECT 1.5 AS id, [1] AS name, 2.5::DOUBLE AS half",
    )
    query = asked("secrets", key(Column("name"), "text", private=True), unit="id")
    told = "'id' is declared as integer, but contains DECIMAL"
    with pytest.raises(SourceUnavailable, match=told):
        statements(engine_for(_catalog(source), ["secrets"]), query, [Units()])
    gone = replace(source, table="gone")
    with pytest.raises(SourceUnavailable, match="has no table gone"):
        statements(engine_for(_catalog(gone), ["secrets"]), query, [Units()])
    other = _duckdb(tmp_path / "c.duckdb", "CREATE TABLE secrets AS SELECT 1 AS id, [1] AS name")
    for kind in ("text", "real", "boolean", "date"):
        with pytest.raises(
            SourceUnavailable, match=f"'name' is declared as {kind}, but contains INTEGER"
        ):
            statements(engine_for(_catalog(other, kind), ["secrets"]), query, [Units()])
    bare = _duckdb(tmp_path / "d.duckdb", "CREATE TABLE secrets AS SELECT 1 AS id")
    with pytest.raises(SourceUnavailable, match="it has no column 'name'"):
        statements(engine_for(_catalog(bare), ["secrets"]), query, [Units()])


def test_tables_in_two_places_cannot_be_joined() -> None:
    here = Source(engine="duckdb", connection="a.duckdb", table="visits")
    there = Source(engine="postgres", connection="X", table="wards")
    tables = (
        replace(CATALOG.tables[0], source=here),
        replace(CATALOG.tables[2], source=there),
    )
    with pytest.raises(SourceUnavailable, match="copy the public one there"):
        engine_for(replace(CATALOG, tables=tables), ["visits", "wards"])
    with pytest.raises(InvalidParameter, match="one that the catalog declares"):
        engine_for(CATALOG, ["nothing"])
    with pytest.raises(InvalidParameter, match="at least one table"):
        engine_for(CATALOG, [])


def test_a_relation_names_its_tables() -> None:
    joined = Join(
        Filtered(Scan("visits"), Comparison("=", Column("age"), Constant(1, "integer"))),
        Projected(Scan("wards"), (("name", Column("ward_name")),)),
        ((Column("ward"), Column("name")),),
        "inner",
    )
    assert list(tables_of(joined)) == ["visits", "wards"]


_AGE, _NOTE, _DAY = Column("age"), Column("note"), Column("day")


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        (Column("nothing"), "one that the relation below has"),
        (Call("random", ()), "one of abs, add_days"),
        (Call("sqrt", (_AGE, _AGE)), "as many as sqrt takes"),
        (Call("sqrt", (_NOTE,)), "a number here"),
        (Call("upper", (_AGE,)), "a text here"),
        (Call("year", (_AGE,)), "a date here"),
        (Call("dow", (_AGE,)), "a date here"),
        (Call("first_of_month", (_AGE,)), "a date here"),
        (Call("least", (_NOTE, _NOTE)), "numbers or dates"),
        (Call("round", (_AGE, _AGE)), "whole number of digits"),
        (Call("substring", (_NOTE, _AGE)), "written out"),
        (Call("clamp", (_AGE, Constant(2, "integer"), Constant(1, "integer"))), "not smaller"),
        (Arithmetic("+", _AGE, _NOTE), "a number here"),
        (Comparison("=", _AGE, _NOTE), "of one kind"),
        (Cast(Column("temp"), "text"), "rounded to an integer first"),
        (Cast(_DAY, "real"), "parts of dates are numbers"),
        (Constant(float("inf"), "real"), "a number from 1e-100 to 1e100"),
        (Constant("2026-02-30", "date"), "a day such as 2026-11-16"),
        (Keyed(0), "one about rows"),
    ],
)
def test_what_cannot_be_computed_is_refused_before_any_row_is_read(
    expression: Expression, says: str, duckdb_engine: Engine
) -> None:
    with pytest.raises(InvalidParameter, match=says):
        statements(duckdb_engine, asked("visits"), [RowCount(rows=1, operand=expression)])


class Stranger(Measure):
    """A measure that no engine has heard of."""

    @property
    def sensitivity(self) -> int:
        """Some."""
        return 1


def test_conditions_relations_and_measures_have_to_be_such(duckdb_engine: Engine) -> None:
    filtered = asked(Filtered(Scan("visits"), _AGE), unit="patient")
    with pytest.raises(InvalidParameter, match="true or false"):
        statements(duckdb_engine, filtered, [Units()])
    with pytest.raises(InvalidParameter, match="a relation"):
        statements(duckdb_engine, asked(Relation(), unit="patient"), [Units()])
    with pytest.raises(InvalidParameter, match="a measure"):
        statements(duckdb_engine, asked("visits"), [Stranger()])
    twice = Join(Scan("visits"), Scan("visits"), ((_AGE, _AGE),), "inner")
    with pytest.raises(InvalidParameter, match="without common names"):
        statements(duckdb_engine, asked(twice, unit="patient"), [Units()])


def test_expressions_that_explode_are_refused_in_no_time(duckdb_engine: Engine) -> None:
    exploding: Expression = Column("temp")
    for _ in range(50):
        exploding = Call("exp", (exploding,))
    with pytest.raises(InvalidParameter, match="less deeply"):
        statements(duckdb_engine, asked("visits"), [total(exploding)])
    relation: Relation = Scan("visits")
    for _ in range(40):
        square = Arithmetic("*", Column("temp"), Column("temp"))
        relation = Projected(relation, (("patient", Column("patient")), ("temp", square)))
    with pytest.raises(InvalidParameter, match="less deeply"):
        statements(duckdb_engine, asked(relation, unit="patient"), [total(Column("temp"))])


def _deep(operator: str, depth: int) -> Expression:
    deep: Expression = Column("temp")
    for _ in range(depth):
        if operator in "+*/%":
            deep = Arithmetic(operator, Column("temp"), deep)  # type: ignore[arg-type]
        else:
            deep = Call(operator, (deep,))
    return deep


def test_deep_expressions_are_answered_in_no_time_on_every_engine(
    duckdb_engine: Engine, postgres_engine: Engine, spark_engine: Engine
) -> None:
    """DuckDB writes NULLIF out twice, Spark infers filters: both can go on for hours."""
    kinds = [("+", 40), ("*", 6), ("/", 5), ("%", 40), ("sqrt", 7), ("ln", 7), ("abs", 40)]
    measures = [total(_deep(operator, depth)) for operator, depth in kinds]
    start = time.monotonic()
    one = measured(duckdb_engine, asked("visits"), measures)
    assert one.values == measured(postgres_engine, asked("visits"), measures).values
    assert one.values == measured(spark_engine, asked("visits"), measures).values
    assert time.monotonic() - start < 600  # however busy the machine is


def test_nested_too_deeply_is_a_refusal_too(duckdb_engine: Engine) -> None:
    deep: Expression = Column("age")
    for _ in range(5_000):
        deep = Call("abs", (deep,))
    with pytest.raises(InvalidParameter, match="nest"):
        duckdb_engine.prepare(measurement_of(asked("visits"), total(deep)))


def test_a_plan_is_made_once(duckdb_engine: Engine) -> None:
    query = asked("visits", key(_NOTE, "text", private=True))
    first = duckdb_engine.prepare(measurement_of(query, Units()))
    assert duckdb_engine.prepare(measurement_of(query, Units())) is first


def test_every_table_of_the_clinic_can_be_opened(parquet_folder: Path) -> None:
    engine = engine_for(catalog_on(Source(engine="duckdb"), parquet_folder), COLUMNS)
    assert measured(engine, asked("visits"), [Units()]).units[0] > 20
    engine.close()
