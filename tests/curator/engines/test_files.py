"""Files as tables: globs, CSV of every ugliness, on DuckDB and on Spark."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.engines import engine_for
from quaestor.curator.kernel.measures import Distinct, RowCount, Total, Units
from quaestor.curator.language.expressions import Column
from quaestor.errors import SourceUnavailable
from tests.curator.engines.answers import measured, statements
from tests.curator.engines.queries import asked, key

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.engines import Engine

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

_FACTS = (
    ColumnFacts(name="id", kind="integer"),
    ColumnFacts(name="Name", kind="text"),
    ColumnFacts(name="height", kind="real", low=0.0, high=250.0, granularity=0.5),
    ColumnFacts(name="born", kind="date"),
    ColumnFacts(name="alive", kind="boolean"),
)
_FIRST = (
    "id,name,height,born,alive\n"
    '1,"Smith, ""Al""",180.2,1970-01-01,true\n'
    '1,"two\nlines",tall,1970-13-01,maybe\n'
    "2,,999,2000-02-29,FALSE\n"
    "x,nobody,100,2000-02-29,true\n"
)
_SECOND = "id,name,height,born,alive\n9007199254740993,é,-3,0001-01-01,\n 3,z,1e2,,true\n"
_MEASURES = (
    Units(),
    RowCount(rows=5),
    RowCount(rows=5, operand=Column("Name")),
    RowCount(rows=5, operand=Column("born")),
    RowCount(rows=5, operand=Column("alive")),
    Total(operand=Column("height"), low=0, high=500, step=0.5, rows=5),
    Distinct(operand=Column("Name"), rows=5),
)
# Units 1 (two rows), 2 and 2**53 + 1; "x" and " 3" are no whole numbers.
_WANTED = [3, 4, 3, 3, 2, 360 + 500 + 0, 3]


def _engine(source: Source, folder: Path) -> Engine:
    table = Table(name="people", source=source, columns=_FACTS, unit="id")
    return engine_for(Catalog(tables=(table,), ledger="", folder=str(folder)), ["people"])


def _values(engine: Engine) -> list[Any]:
    found = measured(engine, asked("people", unit="id", most=5), _MEASURES)
    return [found.values[one][0] for one in _MEASURES]


@pytest.fixture
def csv_folder(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text(_FIRST, encoding="utf-8")
    (tmp_path / "b.csv").write_text(_SECOND, encoding="utf-8")
    return tmp_path


def test_csv_files_are_read_by_the_catalog_alone_on_duckdb(csv_folder: Path) -> None:
    assert _values(_engine(Source(engine="duckdb", files="*.csv"), csv_folder)) == _WANTED


def test_csv_files_are_read_by_the_catalog_alone_on_spark(
    csv_folder: Path, spark_engine: Engine, spark_master: str
) -> None:
    assert spark_engine is not None  # its session is the one that is used
    source = Source(engine="spark", connection=spark_master, files="*.csv")
    assert _values(_engine(source, csv_folder)) == _WANTED


def test_tables_of_one_name_in_two_catalogs_are_told_apart_on_spark(
    csv_folder: Path, spark_engine: Engine, spark_master: str
) -> None:
    assert spark_engine is not None  # its session is the one that is used
    (csv_folder / "alone").mkdir()
    (csv_folder / "alone" / "c.csv").write_text("id,name\n7,g\n", encoding="utf-8")
    source = Source(engine="spark", connection=spark_master, files="*.csv")
    engines = [_engine(source, csv_folder), _engine(source, csv_folder / "alone")]
    query = asked("people", unit="id", most=5)
    for engine in engines:
        statements(engine, query, [Units()])
    assert [measured(engine, query, [Units()]).units for engine in engines] == [[3], [1]]


def test_tabulators_and_compression_are_told_by_the_name(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("id\tname\theight\tborn\talive\n7\ta,b\t10\t2020-01-01\ttrue\n")
    engine = _engine(Source(engine="duckdb", files="*.tsv.gz"), tmp_path)
    assert _values(engine) == [1, 1, 1, 1, 1, 20, 1]


def test_a_row_that_is_no_row_does_not_change_the_others(csv_folder: Path) -> None:
    """Too many fields, bytes that are no text: nothing fails, and nobody else is moved."""
    with (csv_folder / "b.csv").open("ab") as file:
        file.write(b"4,a,b,c,d,e,f,g\n5,\xff\xfe,1,2000-01-01,true\n")
    found = _values(_engine(Source(engine="duckdb", files="*.csv"), csv_folder))
    assert found[0] in range(_WANTED[0], _WANTED[0] + 3)
    assert found[5] in range(_WANTED[5], _WANTED[5] + 3)


def test_files_without_a_header_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("", encoding="utf-8")
    engine = _engine(Source(engine="duckdb", files="a.csv"), tmp_path)
    with pytest.raises(SourceUnavailable, match="names no columns"):
        statements(engine, asked("people", unit="id"), [Units()])


def test_files_that_are_no_parquet_are_refused_without_a_word_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("Jane Doe", encoding="utf-8")
    engine = _engine(Source(engine="duckdb", files="a.parquet"), tmp_path)
    with pytest.raises(SourceUnavailable, match=r"a\.parquet cannot be read") as failure:
        statements(engine, asked("people", unit="id"), [Units()])
    assert failure.value.__context__ is None


def test_columns_are_found_whatever_their_case(csv_folder: Path) -> None:
    engine = _engine(Source(engine="duckdb", files="*.csv"), csv_folder)
    query = asked("people", key(Column("Name"), "text", "é", None), unit="id")
    assert measured(engine, query, [Units()]).units == [1, 1]
