"""Odd containers: folders that name values, logical types of Parquet, packed documents."""

from __future__ import annotations

import csv
import random
from typing import TYPE_CHECKING

import pytest

from quaestor.curator.catalog.model import ColumnFacts, Source
from tests.curator.engines.storage import apart, asked, catalog

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

_TEXT = (ColumnFacts(name="x", kind="text"),)


def _told_apart(without: Source, with_person: Source, *questions: str) -> list[str]:
    """What tells the tables apart; the first question at least has to be answered."""
    found = []
    for sql in questions:
        before, after = (asked(catalog(source, _TEXT), sql) for source in (without, with_person))
        found += [f"{sql}: {it}" for it in apart(before, after)]
    return found


def _in_folders(folder: Path, values: tuple[str, ...], own: tuple[str, ...], kind: str) -> None:
    """Fifty people a value, which stands in the folder's name; one person has an own value."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for place, value in enumerate((*values, *own)):
        ids = [100 * place + number for number in range(1 if value in own else 50)]
        (where := folder / f"x={value}").mkdir(parents=True)
        if kind == "csv":
            lines = "\n".join(["id", *map(str, ids), ""])
            (where / "part.csv").write_text(lines, encoding="utf-8")
        else:
            people = pa.array(map(str, ids)) if kind == "texts" else pa.array(ids)
            pq.write_table(pa.table({"id": people}), where / "part.parquet")


@pytest.mark.parametrize("own", ["mine", "%FF", "*", "[x]", "'", "__HIVE_DEFAULT_PARTITION__"])
@pytest.mark.parametrize("kind", ["csv", "texts", "numbers"])
def test_a_persons_own_folder_does_not_change_what_others_folders_mean(
    kind: str, own: str, tmp_path: Path
) -> None:
    values = ("2024-1-5", "2024-1-6")
    _in_folders(tmp_path / "without", values, (), kind)
    _in_folders(tmp_path / "with", values, (own,), kind)
    file = "part.csv" if kind == "csv" else "part.parquet"
    one, other = (
        Source(engine="duckdb", files=str(tmp_path / name / "*" / file))
        for name in ("without", "with")
    )
    questions = [f"SELECT COUNT(*) AS n FROM t WHERE x = '{value}'" for value in values]
    assert _told_apart(one, other, "SELECT COUNT(*) AS n FROM t", *questions) == []


def test_a_persons_own_folder_does_not_change_what_others_folders_mean_to_spark(
    spark_master: str, tmp_path: Path
) -> None:
    own: tuple[str, ...]
    for name, own in (("without", ()), ("with", ("mine",))):
        _in_folders(tmp_path / name / "t.parquet", ("01234", "54321"), own, "numbers")
    one, other = (
        Source(engine="spark", connection=spark_master, files=str(tmp_path / name / "t.parquet"))
        for name in ("without", "with")
    )
    question = "SELECT x, COUNT(*) AS n FROM t WHERE x IN ('01234', '1234') GROUP BY x"
    assert _told_apart(one, other, question) == []


_STRING, _ENUM, _JSON = (bytes((code, 0x4C, 16 * kind + 12, 0)) for code, kind in
                         ((0, 1), (8, 4), (38, 12)))  # fmt: skip
"""The logical type of a column, as it stands in the footer behind the column's name."""


def _with_type(path: Path, kind: bytes, *, hostile: bool) -> Source:
    """A file of one column that holds no text by its type, and bytes that are none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = ['"ordinary"'] * 50 + ['"hostile."'] * hostile
    table = pa.table({"id": pa.array(range(len(values)), pa.int64()), "x": values})
    pq.write_table(table, path, compression="none", store_schema=False, write_statistics=False)
    held = path.read_bytes()
    assert b"\x01x\x25" + _STRING in held
    held = held.replace(b"\x01x\x25" + _STRING, b"\x01x\x25" + kind)
    path.write_bytes(held.replace(b"hostile.", b"\xff\xfe\xc3(\xed\xa0\x80."))
    return Source(engine="duckdb", files=str(path))


@pytest.mark.parametrize("kind", [_STRING, _ENUM, _JSON], ids=["text", "enumeration", "JSON"])
def test_no_bytes_of_any_logical_type_of_parquet_make_a_question_fail(
    kind: bytes, tmp_path: Path
) -> None:
    one, other = (
        _with_type(tmp_path / f"{name}.parquet", kind, hostile=name == "with")
        for name in ("without", "with")
    )
    questions = (
        "SELECT COUNT(*) AS n FROM t",
        "SELECT COUNT(DISTINCT x) AS n FROM t",
        "SELECT COUNT(*) AS n FROM t WHERE x LIKE '%ord%'",
    )
    assert _told_apart(one, other, *questions) == []


def test_no_document_that_is_longer_in_print_makes_a_question_fail(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number of 16 bytes can have 131,072 digits, and a text no more than a gigabyte."""
    import psycopg

    monkeypatch.setenv("QUAESTOR_TEST_DOCUMENTS", database)
    with psycopg.connect(database, autocommit=True) as connection:
        for name in ("without_person", "with_person"):
            connection.execute(f"CREATE TABLE {name} (id bigint, x jsonb)".encode())
            connection.execute(
                f"INSERT INTO {name} SELECT i, '[1]' FROM generate_series(1, 50) i".encode()
            )
        for many in (500, 9_000, 400_000):
            connection.execute(
                "INSERT INTO with_person VALUES "
                f"(500, ('[' || repeat('1e131071,', {many}) || '1]')::jsonb)".encode()
            )
    one, other = (
        Source(engine="postgres", connection="QUAESTOR_TEST_DOCUMENTS", table=name)
        for name in ("without_person", "with_person")
    )
    questions = ("SELECT COUNT(*) AS n FROM t WHERE x = '[1]'", "SELECT COUNT(DISTINCT x) FROM t")
    assert _told_apart(one, other, *questions) == []


@pytest.mark.parametrize("own", ["*", "[0-9]", "?"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_whose_name_is_a_pattern_is_read_once_and_others_with_it_not(
    ending: str, own: str, tmp_path: Path
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for folder, names in (("without", ("1", "2")), ("with", ("1", "2", own))):
        (tmp_path / folder).mkdir()
        for place, name in enumerate(names):
            ids = [100 * place + number for number in range(1 if name == own else 50)]
            path = tmp_path / folder / f"{name}.{ending}"
            if ending == "csv":
                path.write_text("\n".join(["id", *map(str, ids), ""]), encoding="utf-8")
            else:
                pq.write_table(pa.table({"id": pa.array(ids)}), path)
    one, other = (
        Source(engine="duckdb", files=str(tmp_path / name / f"*.{ending}"))
        for name in ("without", "with")
    )
    before, after = (
        asked(catalog(source, ()), "SELECT COUNT(*) AS n FROM t") for source in (one, other)
    )
    assert list(apart(before, after)) == []


_PIECES = ('"', '""', "\n", "\r", "\r\n", ",", "a", " ", "3,b", "\\", "\0", "'", "\t", "\ufeff", "")


@pytest.mark.parametrize("seed", range(8))
def test_what_is_quoted_in_a_csv_file_never_becomes_rows_of_others(
    seed: int, tmp_path: Path
) -> None:
    draw = random.Random(seed)
    others = [(number, "abc"[number % 3]) for number in range(30)]
    own = [(500, "".join(draw.choices(_PIECES, k=draw.randint(0, 7)))) for _ in range(20)]
    ends = draw.choice(["\n", "\r\n"])
    sources: list[Source] = []
    for name, rows in (
        ("without", others),
        ("with", sorted([*others, *own], key=lambda _: draw.random())),
    ):
        with (tmp_path / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator=ends, quoting=csv.QUOTE_ALL)
            writer.writerows([("id", "x"), *rows])
        sources.append(Source(engine="duckdb", files=str(tmp_path / f"{name}.csv")))
    questions = (
        "SELECT COUNT(DISTINCT id) AS n FROM t WHERE id <> 500",
        "SELECT x, COUNT(*) AS n FROM t WHERE id <> 500 AND x IN ('a', 'b', 'c') GROUP BY x",
    )
    assert _told_apart(sources[0], sources[1], *questions) == []
