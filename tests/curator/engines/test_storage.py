"""No value of any storage type makes a question fail, or changes more than it is priced for."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.catalog.model import ColumnFacts, Source
from quaestor.errors import SourceUnavailable
from tests.curator.door import Seen, exact, one_connection_each
from tests.curator.engines.storage import (
    CSV_LINES,
    DUCKDB,
    KINDS,
    PARQUET,
    POSTGRES,
    SPARK,
    SPARK_ODD,
    Pair,
    Variant,
    apart,
    asked,
    catalog,
    csv_pairs,
    duckdb_pairs,
    merged,
    parquet_pairs,
    parquet_wide,
    postgres_pairs,
    spark_table,
    spark_units,
    trouble,
    wide_questions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

VARIABLE = "QUAESTOR_TEST_STORAGE"


@pytest.fixture(autouse=True, scope="module")
def _connections() -> Iterator[None]:
    """One a place: to open one takes longer than most questions."""
    with one_connection_each():
        yield


@pytest.fixture(scope="module")
def duckdb_stored(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    return duckdb_pairs(tmp_path_factory.mktemp("stored") / "stored.duckdb")


@pytest.fixture(scope="module")
def parquet_stored(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    return parquet_pairs(tmp_path_factory.mktemp("stored"), Source(engine="duckdb"))


@pytest.fixture(scope="module")
def csv_stored(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    return csv_pairs(tmp_path_factory.mktemp("stored"), Source(engine="duckdb"))


@pytest.fixture(scope="module")
def postgres_stored(postgres_address: str) -> Iterator[list[Pair]]:
    import psycopg

    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE stored")
    address = postgres_address.replace("/postgres?", "/stored?")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(VARIABLE, address)
        yield postgres_pairs(address, VARIABLE)


@pytest.fixture(scope="module")
def spark(spark_master: str) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("quaestor").master(spark_master)
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.ansi.enabled", "false")
    return session


_QUICK = ("integer with bounds", "real", "text", "date")


def _as_kinds(pair: Pair) -> list[str]:
    """One question a kind; the slow test asks all of them."""
    some = (variant for variant in KINDS if variant.name in _QUICK)
    return list(chain.from_iterable(trouble(pair, variant, whole=False) for variant in some))


def _as_every_kind(pair: Pair) -> list[str]:
    return list(chain.from_iterable(trouble(pair, variant) for variant in KINDS))


_ORDINARY = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "boolean": "BOOLEAN",
}


@pytest.mark.parametrize("variant", KINDS, ids=[variant.name for variant in KINDS])
def test_every_question_is_answered_of_an_ordinary_type(
    duckdb_stored: list[Pair], variant: Variant
) -> None:
    """Otherwise two refusals would look alike, and nothing would be tested."""
    names = [stored.name for stored in DUCKDB]
    pair = duckdb_stored[names.index(_ORDINARY[variant.kind])]
    for sql in variant.questions:
        assert isinstance(asked(catalog(pair.without, (variant.facts,)), sql), Seen), sql


@pytest.mark.parametrize("number", range(len(DUCKDB)), ids=[one.name for one in DUCKDB])
def test_no_value_of_a_duckdb_file_makes_a_question_fail(
    duckdb_stored: list[Pair], number: int
) -> None:
    assert _as_kinds(duckdb_stored[number]) == []


@pytest.mark.parametrize("number", range(len(DUCKDB)), ids=[one.name for one in DUCKDB])
def test_units_of_a_duckdb_file_are_told_apart(duckdb_stored: list[Pair], number: int) -> None:
    assert merged(duckdb_stored[number], "text") == []


@pytest.mark.parametrize("number", range(len(PARQUET)), ids=[one.name for one in PARQUET])
def test_no_value_of_a_parquet_file_makes_a_question_fail(
    parquet_stored: list[Pair], number: int
) -> None:
    assert _as_kinds(parquet_stored[number]) == []


@pytest.mark.parametrize("number", range(len(PARQUET)), ids=[one.name for one in PARQUET])
def test_units_of_a_parquet_file_are_told_apart(parquet_stored: list[Pair], number: int) -> None:
    assert merged(parquet_stored[number], "text") == []


@pytest.mark.parametrize("number", range(len(POSTGRES)), ids=[one.name for one in POSTGRES])
def test_no_value_on_postgres_makes_a_question_fail(
    postgres_stored: list[Pair], number: int
) -> None:
    assert _as_kinds(postgres_stored[number]) == []


@pytest.mark.parametrize("number", range(len(POSTGRES)), ids=[one.name for one in POSTGRES])
def test_units_on_postgres_are_told_apart(postgres_stored: list[Pair], number: int) -> None:
    assert merged(postgres_stored[number], "text") == []


@pytest.mark.slow
@pytest.mark.parametrize("place", ["duckdb_stored", "parquet_stored", "postgres_stored"])
def test_no_value_makes_any_question_fail(request: pytest.FixtureRequest, place: str) -> None:
    pairs: list[Pair] = request.getfixturevalue(place)
    found = [it for pair in pairs for it in (*_as_every_kind(pair), *merged(pair, "integer"))]
    assert found == []


def test_no_value_of_a_csv_file_makes_a_question_fail(csv_stored: list[Pair]) -> None:
    assert _as_every_kind(csv_stored[0]) == []


@pytest.mark.parametrize("number", range(1, 1 + len(CSV_LINES)), ids=list(CSV_LINES))
def test_no_line_of_a_csv_file_takes_others_with_it(csv_stored: list[Pair], number: int) -> None:
    (text,) = (variant for variant in KINDS if variant.name == "text")
    assert trouble(csv_stored[number], text) == []


def _told_apart(
    pair: tuple[Source, Source], questions: Iterator[tuple[tuple[ColumnFacts, ...], str, str]]
) -> Iterator[str]:
    """What tells two tables of Spark apart; every question must be answered."""
    for facts, sql, kind in questions:
        before, after = (asked(catalog(source, facts), sql) for source in pair)
        if isinstance(before, tuple):
            yield f"{kind}: {before}"
        yield from (f"{kind}: {it}" for it in apart(before, after))


@pytest.fixture(scope="module")
def spark_stored(spark: Any, spark_master: str) -> tuple[Source, Source]:
    spark_table(spark, "without_types", SPARK, hostile=False)
    spark_table(spark, "with_types", SPARK, hostile=True)
    source = Source(engine="spark", connection=spark_master)
    return replace(source, table="without_types"), replace(source, table="with_types")


def test_no_value_in_a_table_of_spark_makes_a_question_fail(
    spark_stored: tuple[Source, Source],
) -> None:
    assert list(_told_apart(spark_stored, wide_questions(SPARK, every=False))) == []


@pytest.mark.slow  # Spark takes ten seconds to plan statements that wide
def test_no_value_in_a_table_of_spark_makes_any_question_fail(
    spark_stored: tuple[Source, Source],
) -> None:
    assert list(_told_apart(spark_stored, wide_questions(SPARK))) == []


@pytest.mark.slow  # Spark takes minutes to plan statements that wide
@pytest.mark.parametrize("valid", [True, False], ids=["UTF-8", "not UTF-8"])
def test_no_value_of_a_parquet_file_makes_a_question_to_spark_fail(
    spark: Any, spark_master: str, tmp_path: Path, *, valid: bool
) -> None:
    assert spark
    coarse = ("timestamp[s", "timestamp[ms")  # refused as a whole: see the next test
    types = [
        one
        for one in PARQUET
        if one.natural
        and ("not UTF-8" not in one.name) == valid
        and not one.name.startswith(coarse)
    ]
    sources = []
    for name in ("without", "with"):
        parquet_wide(tmp_path / f"{name}.parquet", types, hostile=name == "with")
        file = str(tmp_path / f"{name}.parquet")
        sources.append(Source(engine="spark", connection=spark_master, files=file))
    assert list(_told_apart((sources[0], sources[1]), wide_questions(types))) == []


def test_a_parquet_file_with_a_time_that_spark_cannot_read_is_refused_whatever_is_asked(
    spark: Any, spark_master: str, tmp_path: Path
) -> None:
    assert spark
    types = [one for one in PARQUET if one.name.startswith("timestamp[ms")]
    file = str(tmp_path / "with.parquet")
    parquet_wide(tmp_path / "with.parquet", types, hostile=True)
    source = Source(engine="spark", connection=spark_master, files=file)
    facts = tuple(ColumnFacts(name=f"x{at}", kind="date") for at in range(len(types)))
    for sql in ("SELECT COUNT(*) AS n FROM t", "SELECT COUNT(*) AS n FROM t WHERE id = 0"):
        with pytest.raises(SourceUnavailable, match="microseconds"):
            exact(catalog(source, facts), sql)


@pytest.mark.parametrize("number", range(len(SPARK_ODD)), ids=[one.name for one in SPARK_ODD])
def test_odd_types_of_spark_are_refused_or_told_apart(
    spark: Any, spark_master: str, number: int
) -> None:
    stored = SPARK_ODD[number]
    spark_units(spark, f"odd_{number}", stored)
    source = Source(engine="spark", connection=spark_master, table=f"odd_{number}")
    pair = Pair(
        name=stored.name, without=source, hostile=source, units=source,
        values=1 + len(stored.extremes),
    )  # fmt: skip
    assert merged(pair, "text") == []


@pytest.mark.slow  # a statement a line; a table of Spark with all values is asked above
def test_no_line_of_a_csv_file_fails_on_spark(
    spark: Any, spark_master: str, tmp_path: Path
) -> None:
    assert spark
    source = Source(engine="spark", connection=spark_master)
    facts = (ColumnFacts(name="x", kind="text"),)
    sql = "SELECT COUNT(*) AS n, COUNT_IF(x = '5') AS e, COUNT(DISTINCT id) AS u FROM t"
    found = []
    pairs = csv_pairs(tmp_path, source)
    before = asked(catalog(pairs[0].without, facts), sql)
    for pair in pairs:
        after = asked(catalog(pair.hostile, facts), sql)
        found += [f"{pair.name}: {it}" for it in apart(before, after)]
    assert found == []
