"""Times are times: read from every storage, compared, cut and grouped alike on every engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.catalog.model import ColumnFacts, Source, TextFormat
from quaestor.errors import RefusedQuery
from tests.curator.door import exact
from tests.curator.engines.storage import apart, asked, catalog

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.catalog.model import Catalog

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

_TIMES = (
    "2024-01-11 08:30:00",
    "2024-01-11 08:59:59.999999",
    "2024-01-11 23:15:30.5",
    "2024-02-29 00:00:00",
    "1969-12-31 23:59:59.999999",
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999",
)
_KEYS = ("2024-01-11 08:30:00", "2024-01-11 08:59:59.999999", "1969-12-31 23:59:59.999999")
_FACTS = (ColumnFacts(name="x", kind="timestamp"),)
_KEYED = (ColumnFacts(name="x", kind="timestamp", keys=(*_KEYS, None)),)
_QUESTIONS = {
    "SELECT COUNT(x) AS n FROM t": [7],
    "SELECT x, COUNT(*) AS n FROM t GROUP BY x": [1, 1, 1, 1],
    "SELECT COUNT(*) AS n FROM t WHERE x >= TIMESTAMP '2024-01-11 08:30:00'": [5],
    "SELECT COUNT(*) AS n FROM t WHERE x > '2024-01-11 08:30:00'": [4],
    "SELECT COUNT(*) AS n FROM t WHERE x < DATE '2024-01-12'": [5],
    "SELECT COUNT(*) AS n FROM t WHERE x IN ('2024-01-11T08:30', '2024-02-29')": [2],
    "SELECT COUNT(*) AS n FROM t WHERE CAST(x AS DATE) = '2024-01-11'": [3],
    "SELECT COUNT(*) AS n FROM t WHERE x = CAST(CAST(x AS DATE) AS TIMESTAMP)": [2],
    "SELECT COUNT(*) AS n FROM t WHERE YEAR(x) = 2024 AND MONTH(x) = 2": [1],
    "SELECT COUNT(*) AS n FROM t WHERE HOUR(x) = 23": [3],
    "SELECT COUNT(*) AS n FROM t WHERE EXTRACT(minute FROM x) = 59": [3],
    "SELECT COUNT(*) AS n FROM t WHERE EXTRACT(second FROM x) = 59": [3],
    "SELECT COUNT(*) AS n FROM t WHERE EXTRACT(second FROM x) = 30": [1],
    "SELECT COUNT(*) AS n FROM t WHERE DATE_TRUNC('hour', x) = '2024-01-11 08:00:00'": [2],
    "SELECT COUNT(*) AS n FROM t WHERE DATE_TRUNC('minute', x) = '2024-01-11 23:15:00'": [1],
    "SELECT COUNT(*) AS n FROM t WHERE DATE_TRUNC('month', x) = DATE '2024-01-01'": [3],
    "SELECT COUNT(*) AS n FROM t WHERE DATE_DIFF('day', x, DATE '2024-01-12') = 1": [3],
    "SELECT COUNT(*) AS n FROM t WHERE GREATEST(x, DATE '2024-02-01') = x": [2],
    "SELECT SUM(HOUR(x)) AS s FROM t": [8 + 8 + 23 + 0 + 23 + 0 + 23],
}


def _values(where: Catalog, sql: str) -> list[Any]:
    found = exact(where, sql)
    assert not found.failed, sql
    return list(found.drawn[0].values)


def _all(source: Source, *some: str) -> dict[str, list[Any]]:
    return {
        sql: _values(catalog(source, _KEYED if "GROUP BY" in sql else _FACTS), sql)
        for sql in some or _QUESTIONS
    }


def _rows() -> list[tuple[int, str | None]]:
    return [*enumerate(_TIMES), (100, None)]


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_NS", "VARCHAR"])
def test_times_of_duckdb_are_times(kind: str, tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE TABLE t (id BIGINT, x {kind})")
        kept = [row for row in _rows() if kind != "TIMESTAMP_NS" or row[0] not in {5, 6}]
        connection.executemany(f"INSERT INTO t VALUES (?, CAST(? AS {kind}))", kept)
    source = Source(engine="duckdb", connection=str(path), table="t")
    if kind != "TIMESTAMP_NS":
        assert _all(source) == _QUESTIONS
    else:
        assert _values(catalog(source, _FACTS), "SELECT COUNT(x) AS n FROM t") == [5]


def test_times_of_parquet_and_of_text_files_are_times(tmp_path: Path) -> None:
    import duckdb

    lines = "".join(f"{number},{time or ''}\n" for number, time in _rows())
    (tmp_path / "t.csv").write_text("id,x\n" + lines, encoding="utf-8")
    duckdb.sql(
        f"SELECT id, CAST(x AS TIMESTAMP) AS x FROM read_csv('{tmp_path}/t.csv', "
        "columns = {'id': 'BIGINT', 'x': 'VARCHAR'})"
    ).write_parquet(str(tmp_path / "t.parquet"))
    for name in ("t.csv", "t.parquet"):
        assert _all(Source(engine="duckdb", files=str(tmp_path / name))) == _QUESTIONS, name


def test_times_of_postgresql_are_times(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    monkeypatch.setenv("QUAESTOR_TEST_TIMES", database)
    source = Source(engine="postgres", connection="QUAESTOR_TEST_TIMES")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SET TIME ZONE 'UTC'")
        for name, kind in (("plain", "timestamp"), ("zoned", "timestamptz"), ("texts", "text")):
            connection.execute(f"CREATE TABLE {name} (id bigint, x {kind})".encode())
            with connection.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {name} VALUES (%s, %s)".encode(), _rows())
            assert _all(replace(source, table=name)) == _QUESTIONS, name
            if kind != "text":  # what is outside the calendar has no value
                for odd in ("infinity", "-infinity", "4713-01-01 BC", "294276-12-31 23:59:59"):
                    connection.execute(f"INSERT INTO {name} VALUES (7, '{odd}')".encode())
                grouped = "SELECT x, COUNT(*) AS n FROM t GROUP BY x"
                missing = {**_QUESTIONS, grouped: [1, 1, 1, 5]}
                assert _all(replace(source, table=name)) == missing, name


_WHERE = "SELECT COUNT(*) AS n FROM t WHERE "


def _some(source: Source) -> dict[str, list[Any]]:
    """The same with all conditions in one statement: Spark takes a second for each."""
    where = [sql for sql in _QUESTIONS if sql.startswith(_WHERE)]
    counts = (f"COUNT_IF({sql.removeprefix(_WHERE)}) AS c{at}" for at, sql in enumerate(where))
    found = exact(catalog(source, _FACTS), f"SELECT {', '.join(counts)} FROM t")
    assert not found.failed
    own = found.drawn[: len(where)]  # what limits cut comes after
    counted = {sql: drawn.values for sql, drawn in zip(where, own, strict=True)}
    return {sql: counted[sql] if sql in counted else _all(source, sql)[sql] for sql in _QUESTIONS}


@pytest.mark.parametrize("name", ["t.parquet", pytest.param("t.csv", marks=pytest.mark.slow)])
def test_times_of_spark_are_times(spark_master: str, tmp_path: Path, name: str) -> None:
    import duckdb

    lines = "".join(f"{number},{time or ''}\n" for number, time in _rows())
    (tmp_path / "t.csv").write_text("id,x\r\n" + lines.replace("\n", "\r\n"), encoding="utf-8")
    duckdb.sql(
        f"SELECT id, CAST(x AS TIMESTAMP) AS x FROM read_csv('{tmp_path}/t.csv', "
        "columns = {'id': 'BIGINT', 'x': 'VARCHAR'})"
    ).write_parquet(str(tmp_path / "t.parquet"))
    source = Source(engine="spark", connection=spark_master, files=str(tmp_path / name))
    assert _some(source) == _QUESTIONS


def test_times_of_text_files_are_read_as_they_are_written(tmp_path: Path) -> None:
    form = TextFormat(separator=";", date_format="%d.%m.%Y")
    written = {
        "11.01.2024 08:30": "2024-01-11 08:30:00",
        "11.1.2024 8:30:00": "2024-01-11 08:30:00",
        "11.01.2024T08:30:00.0": "2024-01-11 08:30:00",
        "11.01.2024 10:30+02:00": "2024-01-11 08:30:00",
        "10.01.2024 22:30 -1000": "2024-01-11 08:30:00",
        "11.01.2024 08:30Z": "2024-01-11 08:30:00",
        "11.01.2024": "2024-01-11 00:00:00",
        "01.01.0001 00:00+14:00": "0001-01-01 00:00:00",
        "31.12.9999 23:59-14:00": "9999-12-31 23:59:59.999999",
        "30.02.2024 08:30": None,
        "11.01.2024 24:00": None,
        "2024-01-11 08:30": None,
        "11.01.2024 08:30 pm": None,
    }
    lines = "".join(f"{number};{text}\n" for number, text in enumerate(written))
    (tmp_path / "t.csv").write_text("id;x\n" + lines, encoding="utf-8")
    source = Source(engine="duckdb", files=str(tmp_path / "t.csv"), format=form)
    keys = tuple(dict.fromkeys(written.values()))
    facts = (ColumnFacts(name="x", kind="timestamp", keys=keys),)
    counts = _values(catalog(source, facts), "SELECT x, COUNT(*) AS n FROM t GROUP BY x")
    assert dict(zip(keys, counts, strict=True)) == {
        key: list(written.values()).count(key) for key in keys
    }


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT COUNT(*) AS n FROM t WHERE x > 'noon'", "is not a time"),
        ("SELECT AVG(x) AS n FROM t", "is a time"),
        ("SELECT COUNT(*) AS n FROM t WHERE x - x > 1", "DATE_DIFF"),
        ("SELECT COUNT(*) AS n FROM t WHERE CAST(x AS VARCHAR) = 'a'", "gives different results"),
        ("SELECT COUNT(*) AS n FROM t WHERE x LIKE '2024%'", "LIKE needs a text"),
    ],
)
def test_what_is_not_done_with_times_is_refused_with_what_to_write(sql: str, said: str) -> None:
    with pytest.raises(RefusedQuery, match=said):
        exact(catalog(Source(engine="duckdb", files="t.csv"), _FACTS), sql)


def test_no_time_of_one_person_changes_how_others_are_read(tmp_path: Path) -> None:
    import duckdb

    sources = []
    for name, more in (("without", ""), ("with", " UNION ALL SELECT 500, odd FROM odds")):
        duckdb.sql("CREATE OR REPLACE TEMP TABLE odds AS SELECT unnest(["
                   "'infinity'::TIMESTAMP, '-infinity'::TIMESTAMP, '290309-12-22 (BC)'::TIMESTAMP,"
                   "'294247-01-10 04:00:54.775806'::TIMESTAMP, NULL]) AS odd")  # fmt: skip
        path = tmp_path / f"{name}.parquet"
        duckdb.sql(
            f"SELECT i AS id, TIMESTAMP '2024-01-11 08:30:00' AS x FROM range(40) r(i){more}"
        ).write_parquet(str(path))
        sources.append(Source(engine="duckdb", files=str(path)))
    for sql in _QUESTIONS:
        facts = _KEYED if "GROUP BY" in sql else _FACTS
        before, after = (asked(catalog(source, facts), sql) for source in sources)
        assert list(apart(before, after)) == []
