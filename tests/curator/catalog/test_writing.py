"""Writing catalogs: what is written is read back, and what was there stays."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor import InvalidCatalog
from quaestor.curator.catalog import (
    Catalog,
    ColumnFacts,
    Source,
    Table,
    add_table,
    catalog_from_toml,
    read_catalog,
    table_to_toml,
    write_starter,
)
from quaestor.curator.catalog.names import RESERVED
from quaestor.curator.language.query import Contribution
from tests.curator.catalog.examples import VISITS, documented

if TYPE_CHECKING:
    from pathlib import Path

# Random tables, as the owner might declare them.

WORDS = st.text(max_size=12).filter(
    lambda text: text.strip() != "" and text.isprintable() and "://" not in text and "=" not in text
)
TABLE_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True).filter(
    lambda name: name.lower() not in RESERVED and not name.lower().startswith("quaestor_")
)
COLUMN_NAMES = WORDS.filter(
    lambda name: '"' not in name and not name.lower().startswith("quaestor_")
)
KEYS = {
    "integer": st.integers(-(10**15), 10**15),
    "real": st.floats(-1e15, 1e15).map(lambda number: number + 0.0),
    "text": st.text(max_size=8).filter(lambda text: "\0" not in text),
    "boolean": st.booleans(),
    "date": st.dates().map(lambda day: day.isoformat()),
}
SOURCES = st.one_of(
    WORDS.map(lambda name: Source(engine="duckdb", files=f"{name}.parquet")),
    WORDS.map(lambda name: Source(engine="duckdb", connection=name, table="a.b")),
    TABLE_NAMES.map(lambda name: Source(engine="postgres", connection=name, table="v")),
    WORDS.map(lambda name: Source(engine="spark", connection="local[2]", files=f"{name}.csv")),
)


@st.composite
def facts(draw: st.DrawFn, name: str) -> ColumnFacts:
    """A column of some kind, with keys or bounds or neither."""
    kind = draw(st.sampled_from(["integer", "real", "text", "boolean", "date"]))
    if draw(st.booleans()):
        keys = tuple(draw(st.lists(KEYS[kind], min_size=1, max_size=4, unique=True)))
        missing = (None,) if draw(st.booleans()) else ()
        return ColumnFacts(name=name, kind=kind, keys=(*keys, *missing))  # type: ignore[arg-type]
    if kind not in {"integer", "real"} or draw(st.booleans()):
        return ColumnFacts(name=name, kind=kind)  # type: ignore[arg-type]
    step = 2.0 ** draw(st.integers(0 if kind == "integer" else -20, 20))
    first = draw(st.integers(-(2**24), 2**24 - 1))
    last = draw(st.integers(first + 1, 2**24))
    return ColumnFacts(
        name=name,
        kind=kind,  # type: ignore[arg-type]
        low=first * step,
        high=last * step,
        granularity=step,
    )


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A table, private or public."""
    names = draw(st.lists(COLUMN_NAMES, min_size=1, max_size=5, unique_by=lambda n: n.lower()))
    columns = [draw(facts(name)) for name in names]
    name, source = draw(TABLE_NAMES), draw(SOURCES)
    if draw(st.booleans()):
        return Table(name=name, source=source, columns=tuple(columns))
    columns[0] = ColumnFacts(name=names[0], kind=draw(st.sampled_from(["integer", "text"])))
    limits = st.integers(1, 10**6)
    return Table(
        name=name,
        source=source,
        columns=tuple(columns),
        unit=names[0],
        contribution=Contribution(rows=draw(limits), groups=draw(limits)),
        dataset=draw(WORDS | st.just(name)),
        total_rows=draw(st.none() | limits),
    )


@given(table=tables())
def test_a_table_that_is_written_is_read_back(table: Table) -> None:
    assert catalog_from_toml(table_to_toml(table)).tables == (table,)


def test_the_documented_tables_are_read_back() -> None:
    known = catalog_from_toml(documented())
    again = catalog_from_toml("\n".join(map(table_to_toml, known.tables)))
    assert again.tables == known.tables


def test_a_table_that_lacks_its_limits_is_not_written_as_public() -> None:
    table = Table(
        name="t",
        source=Source(engine="duckdb", files="a.csv"),
        columns=(ColumnFacts(name="who", kind="text"),),
        unit="who",
    )
    assert "public" not in table_to_toml(table)
    with pytest.raises(InvalidCatalog, match="rows is missing"):
        catalog_from_toml(table_to_toml(table))


# Files.

STAYS = Table(
    name="stays",
    source=Source(engine="duckdb", files="stays.csv"),
    columns=(ColumnFacts(name="who", kind="text"),),
    unit="who",
    contribution=Contribution(rows=1, groups=1),
    dataset="stays",
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("tail", ["", "# the last word", "# the last word\n", "\n\n"])
def test_what_was_there_stays_byte_for_byte(tmp_path: Path, end: str, tail: str) -> None:
    path = tmp_path / "quaestor.toml"
    before = ("# mine\n" + VISITS + tail).replace("\n", end).encode()
    path.write_bytes(before)
    path.chmod(0o600)
    added = add_table(path, STAYS)
    after = path.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\r\n") == (after.count(b"\n") if end == "\r\n" else 0)
    assert [table.name for table in added.tables] == ["visits", "stays"]
    assert read_catalog(path) == added
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_table_is_added_to_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "quaestor.toml"
    path.write_bytes(b"")
    assert add_table(path, STAYS).tables == (STAYS,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (VISITS.replace("visits", "Stays"), "table 'stays' already exists"),
        (VISITS + "[tables.other]\n", "line 13: table 'other': the place of the table is missing"),
        ("tables = {}\n", "nothing was added: this is not TOML"),
        (
            VISITS.replace("visits.parquet", "stays.csv"),
            "nothing was added: table 'stays': table 'visits' already has these rows",
        ),
    ],
)
def test_nothing_is_written_where_something_is_wrong(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "quaestor.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidCatalog) as caught:
        add_table(path, STAYS)
    assert problem in str(caught.value)
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("room", [0, 10])
def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path: Path, room: int) -> None:
    path = tmp_path / "quaestor.toml"
    path.write_text(VISITS, encoding="utf-8")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(VISITS) + room, hard))
    try:
        with pytest.raises(InvalidCatalog, match=r"cannot be written \(.*; make it writable"):
            add_table(path, STAYS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text(encoding="utf-8") == VISITS


# The first file.


def test_the_starter_is_a_catalog_and_its_examples_work(tmp_path: Path) -> None:
    path = write_starter(tmp_path / "a" / "b")
    assert path == tmp_path / "a" / "b" / "quaestor.toml"
    assert read_catalog(path) == Catalog(tables=(), ledger="ledger.db")
    lines = path.read_text(encoding="utf-8").splitlines()
    code = [line[2:] for line in lines if line.startswith(("# [", "# ")) and _is_code(line[2:])]
    uncommented = catalog_from_toml("\n".join(code))
    visits = uncommented.table("visits")
    assert visits is not None
    assert visits.unit == "patient"
    assert uncommented.accounts[0].datasets == ("visits",)


def _is_code(line: str) -> bool:
    """A header, or a key with one word: what is no prose."""
    key, equals, _ = line.partition(" = ")
    return line.startswith("[") or (equals != "" and key.isidentifier())


def test_the_starter_never_overwrites(tmp_path: Path) -> None:
    path = write_starter(tmp_path)
    path.write_text(VISITS, encoding="utf-8")
    with pytest.raises(InvalidCatalog, match="a catalog already exists; edit it"):
        write_starter(tmp_path)
    assert path.read_text(encoding="utf-8") == VISITS
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InvalidCatalog, match="a catalog already exists"):
        write_starter(tmp_path)
    assert not os.path.lexists(tmp_path / "nowhere")


def test_a_folder_that_cannot_be_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidCatalog, match="a file of that name exists"):
        write_starter(tmp_path / "file")
    with pytest.raises(InvalidCatalog, match=r"cannot be written \(Not a directory\)"):
        write_starter(tmp_path / "file" / "folder")
    with pytest.raises(InvalidCatalog, match="this is not a valid name"):
        write_starter(tmp_path / "a\0b")
