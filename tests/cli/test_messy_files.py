"""Files as hospitals and agencies have them, from ``dataset add`` to the figures of a question."""

from __future__ import annotations

import gzip
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.catalog import read_catalog
from tests.curator.door import exact

if TYPE_CHECKING:
    from tests.cli.running import Outcome, Run

UNIT = ("--unit", "id", "--rows", "1", "--groups", "1")
GERMAN = ("--encoding", "windows-1252", "--decimal", ",", "--thousands", ".")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quaestor: Run) -> Path:
    """An empty catalog, where the commands are called."""
    monkeypatch.chdir(tmp_path)
    assert quaestor("init").status == 0
    return tmp_path


def add(quaestor: Run, content: bytes | str, *options: str, file: str = "t.csv") -> Outcome:
    Path(file).write_bytes(content if isinstance(content, bytes) else content.encode())
    return quaestor("dataset", "add", "t", "--file", file, *UNIT, *options)


def figures(folder: Path, sql: str) -> list[Any]:
    """The first exact figure of every group, before any noise."""
    found = exact(read_catalog(folder), sql)
    assert not found.failed
    return list(found.drawn[0].values)


def added(outcome: Outcome) -> str:
    assert (outcome.status, outcome.err) == (0, "")
    return " ".join(outcome.out.split())


def refused(outcome: Outcome) -> str:
    assert outcome.status == 2, outcome.out
    return " ".join(outcome.err.split())


def test_how_a_bound_was_typed_says_nothing_of_the_kind(quaestor: Run, folder: Path) -> None:
    run = add(quaestor, "id,creatinine\n1,0.6\n2,0.9\n3,1.1\n", "--bounds", "creatinine=0:20")
    assert "read as real numbers; for whole numbers write --kind creatinine=integer" in added(run)
    (column,) = (c for c in read_catalog(folder).tables[0].columns if c.name == "creatinine")
    assert column.kind == "real"
    assert column.granularity is not None
    (total,) = figures(folder, "SELECT SUM(creatinine) AS s FROM t")
    (folder / "t.csv").write_text("id,creatinine\n1,1.0\n", encoding="utf-8")
    (one,) = figures(folder, "SELECT SUM(creatinine) AS s FROM t")  # how many steps one is
    assert one > 100
    assert total / one == pytest.approx(2.6, abs=3 * column.granularity)


def test_a_declared_kind_is_kept(quaestor: Run, folder: Path) -> None:
    run = add(quaestor, "id,age\n1,40\n", "--bounds", "age=0:120", "--kind", "age=integer")
    assert "Note" not in added(run)
    assert read_catalog(folder).tables[0].columns[1].kind == "integer"


def test_a_latin_1_file_is_refused_until_its_encoding_is_said(quaestor: Run, folder: Path) -> None:
    content = "id,place\n1,Île-de-Ré\n2,Brest\n3,Île-de-Ré\n".encode("latin-1")
    assert "add --encoding windows-1252" in refused(add(quaestor, content))
    assert read_catalog(folder).tables == ()
    added(add(quaestor, content, "--encoding", "latin-1", "--keys", "place=Île-de-Ré,Brest"))
    assert figures(folder, "SELECT place, COUNT(*) AS n FROM t GROUP BY place") == [2, 1]


def test_a_file_in_the_wrong_encoding_loses_no_rows(quaestor: Run, folder: Path) -> None:
    """As when the file was changed after the table was declared."""
    added(add(quaestor, "id,place\n1,Brest\n"))
    (folder / "t.csv").write_bytes("id,place\n1,Brest\n2,Île\n3,Ré\n".encode("latin-1"))
    assert figures(folder, "SELECT COUNT(*) AS n FROM t") == [3]
    assert figures(folder, "SELECT COUNT(place) AS n FROM t") == [3]


def test_times_in_a_column_of_dates_are_read_as_their_dates(quaestor: Run, folder: Path) -> None:
    lines = "2024-01-11 08:30:00", "2024-01-11T23:59", "2024-01-11", "2024-01-12T01:30:00+02:00"
    content = "id,day\n" + "".join(f"{n},{line}\n" for n, line in enumerate(lines))
    added(add(quaestor, content, "--kind", "day=date", "--keys", "day=2024-01-11"))
    assert figures(folder, "SELECT day, COUNT(*) AS n FROM t GROUP BY day") == [4]


def test_a_file_of_german_excel_is_read(quaestor: Run, folder: Path) -> None:
    content = (
        "id;Größe;Aufnahme;Kosten\r\n"
        "1;1,75;11.01.2024;1.234,50 \r\n"
        '2;1,6;"1.2.2024";99,5\r\n'
        "3;;31.12.2023;-\r\n"
    ).encode("cp1252")
    options = (*GERMAN, "--date-format", "%d.%m.%Y", "--null", "-")
    facts = ("--bounds", "Größe=0:3", "--bounds", "Kosten=0:10000", "--granularity", "Größe=0.25")
    run = add(quaestor, content, *options, *facts, "--kind", "Aufnahme=date")
    assert "its fields are separated by semicolons; using --separator ';'" in added(run)
    assert 'separator = ";"' in (folder / "quaestor.toml").read_text(encoding="utf-8")
    assert figures(folder, 'SELECT SUM("Größe") AS s FROM t') == [7 + 6]
    assert figures(folder, "SELECT COUNT(Kosten) AS n FROM t WHERE Kosten > 1234") == [1]
    assert figures(folder, "SELECT COUNT(Kosten) AS n FROM t") == [2]
    assert figures(folder, "SELECT COUNT(*) AS n FROM t WHERE MONTH(Aufnahme) <= 2") == [2]


def test_a_file_that_says_that_it_is_utf_16_is_taken_as_such(quaestor: Run, folder: Path) -> None:
    content = "id\tname\r\n1\tŁódź\r\n2\tŁódź\r\n".encode("utf-16")
    run = add(quaestor, content, "--keys", "name=Łódź", file="t.tsv")
    assert 'encoding = "utf-16"' in added(run)
    assert figures(folder, "SELECT name, COUNT(*) AS n FROM t GROUP BY name") == [2]


def test_marks_blank_lines_quoted_lines_and_ragged_rows_are_read(
    quaestor: Run, folder: Path
) -> None:
    content = (
        "\ufeff\r\nid,note,age\r\n\r\n"
        '1,"two\r\nlines",40\r\n\r\n2,short\r\n3,long,41,,,\r\n,nobody,50\r\n4,x,42'
    )
    run = add(quaestor, content, "--bounds", "age=0:120")
    assert "rows without a value in id are ignored" in added(run)
    assert [c.name for c in read_catalog(folder).tables[0].columns] == ["id", "note", "age"]
    assert figures(folder, "SELECT COUNT(*) AS n FROM t") == [4]
    assert figures(folder, "SELECT COUNT(age) AS n FROM t") == [3]


def test_columns_without_a_name_or_with_one_twice_get_one(quaestor: Run, folder: Path) -> None:
    run = added(add(quaestor, "id,x,X,,\n1,a,b,c,\n"))
    assert "column 4 has no name in the first line; its name is now column4" in run
    assert "column 3 has the name of another, X; its name is now X_2" in run
    names = [column.name for column in read_catalog(folder).tables[0].columns]
    assert names == ["id", "x", "X_2", "column4", "column5"]
    assert figures(folder, "SELECT COUNT(*) AS n FROM t WHERE X_2 = 'b' AND column4 = 'c'") == [1]


def test_a_file_without_a_header_is_named_by_the_catalog(quaestor: Run, folder: Path) -> None:
    run = add(quaestor, "1,40,x\n2,50,y\n", "--no-header", "--names", "id,age,note")
    assert "names 'id', 'age', 'note'" in added(run)
    assert figures(folder, "SELECT COUNT(*) AS n FROM t WHERE note = 'x'") == [1]
    assert quaestor("init", "other").status == 0
    run = quaestor(
        *("dataset", "add", "t", "--file", "t.csv", "--no-header", "--catalog", "other"),
        *("--unit", "column1", "--rows", "1", "--groups", "1"),
    )
    added(run)
    names = read_catalog(folder / "other").tables[0].source.format.names
    assert names == ("column1", "column2", "column3")


def test_json_lines_are_read_with_absent_fields_as_null(quaestor: Run, folder: Path) -> None:
    lines = (
        '{"id": 1, "age": 40, "tags": ["a", "b"]}\n'
        '{"id": 2, "weight": 70.5, "age": null}\n'
        '\n{"id": "3", "age": "41"}\n[4]\nbroken\n{"id": 5, "id/x": 1}\n'
    )
    packed = gzip.compress(lines.encode())
    facts = ("--bounds", "age=0:120", "--kind", "weight=real")
    added(add(quaestor, packed, *facts, file="t.jsonl.gz"))
    names = [column.name for column in read_catalog(folder).tables[0].columns]
    assert names == ["id", "age", "tags", "weight"]
    assert figures(folder, "SELECT COUNT(*) AS n FROM t") == [4]
    assert figures(folder, "SELECT COUNT(age) AS n FROM t") == [2]
    assert figures(folder, "SELECT COUNT(weight) AS n FROM t") == [1]
    assert figures(folder, """SELECT COUNT(*) AS n FROM t WHERE tags = '["a","b"]'""") == [1]


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (b"", (), "the file is empty"),
        (b"id,x\r1,a\r2,b\r", (), "end in carriage returns alone"),
        (b"PK\x03\x04rest", (), "save it as CSV UTF-8"),
        (b"i\0d\0,\0x\0", (), "--encoding utf-16-le"),
        (b"id,x\n", ("--encoding", "klingon"), "utf-8, windows-1252, latin-1, utf-16"),
        (b"id,x\n", ("--encoding", "shift_jis"), "save the file as UTF-8"),
        (b"id;x\n1;2\n", ("--separator", ","), "write --separator ';'"),
        (b"id,x\n", ("--separator", "ab"), 'write separator = ";"'),
        (b"id,x\n", ("--date-format", "%d.%B.%Y"), "made of %d, %m and %Y"),
        (b"id,x\n", ("--decimal", ","), "Added"),
        (b"id,x\n", ("--thousands", "."), 'decimal = "," and thousands = "."'),
        (b"id,x\n", ("--names", "id,x"), "header = false"),
    ],
)
def test_every_error_says_what_to_type(
    quaestor: Run, folder: Path, content: bytes, options: tuple[str, ...], said: str
) -> None:
    assert folder.is_dir()
    run = add(quaestor, content, *options)
    assert said in " ".join((run.out + run.err).split())


def test_files_of_other_columns_are_refused_when_declared_and_when_asked(
    quaestor: Run, folder: Path
) -> None:
    (folder / "b.csv").write_text("x,id\n1,2\n", encoding="utf-8")
    (folder / "a.csv").write_text("id,x\n1,2\n", encoding="utf-8")
    command = ("dataset", "add", "t", "--file", "[ab].csv", *UNIT)
    assert "same columns in the same order" in refused(quaestor(*command))
    (folder / "b.csv").write_text("id,x\n1,2\n", encoding="utf-8")
    added(quaestor(*command))
    (folder / "b.csv").write_text("x,id\n1,2\n", encoding="utf-8")
    from quaestor.errors import SourceUnavailable

    with pytest.raises(SourceUnavailable, match=r"the columns of b\.csv are not those"):
        exact(read_catalog(folder), "SELECT COUNT(*) AS n FROM t")


def test_options_of_text_files_are_refused_for_others(quaestor: Run, folder: Path) -> None:
    import duckdb

    duckdb.sql("SELECT 1 AS id").write_parquet(str(folder / "t.parquet"))
    run = quaestor("dataset", "add", "t", "--file", "t.parquet", *UNIT, "--separator", ";")
    assert "separator applies to text files only" in refused(run)


def test_the_guide_shows_what_is_printed(
    quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "guide" / "messy-files.md").read_text("utf-8")
    (rows,) = re.findall(r"```text\n# visits.csv.*?\n(.*?)```", page, re.DOTALL)
    (tmp_path / "visits.csv").write_bytes(rows.replace("\n", "\r\n").encode("cp1252"))
    printed = ""
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for line in block.replace("\\\n", "").splitlines():
            if line.startswith("$ quaestor "):
                run = quaestor(*shlex.split(line)[2:])
                printed = " ".join((run.out + run.err).split())
            else:
                assert " ".join(line.split()) in printed
    catalog = (tmp_path / "quaestor.toml").read_text(encoding="utf-8")
    for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL):
        assert block in catalog
