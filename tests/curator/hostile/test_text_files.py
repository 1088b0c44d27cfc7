"""One person's line in a text file changes nothing about how other people's lines are read."""

from __future__ import annotations

import csv
import gzip
import io
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.catalog.model import ColumnFacts, Source, TextFormat
from tests.curator.engines.storage import apart, asked, catalog

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

_FACTS = (
    ColumnFacts(name="x", kind="text"),
    ColumnFacts(name="cost", kind="real", low=0.0, high=2000.0, granularity=0.5),
    ColumnFacts(name="day", kind="date"),
)
_GERMAN = TextFormat(
    separator=";", decimal=",", thousands=".", date_format="%d.%m.%Y", null=("NA", "-")
)
_FORMATS = {
    "usual": TextFormat(),
    "german": _GERMAN,
    "windows-1252": replace(_GERMAN, encoding="windows-1252"),
    "latin-1": replace(_GERMAN, encoding="latin-1"),
    "utf-16": replace(_GERMAN, encoding="utf-16"),
    "tabulators": TextFormat(separator="\t", date_format="%m/%d/%y"),
    "no header": replace(_GERMAN, header=False, names=("id", "x", "cost", "day")),
    "swiss": TextFormat(separator="|", thousands="'", date_format="%Y%m%d"),
}
_DAYS = {"%Y-%m-%d": "2024-01-11", "%d.%m.%Y": "11.01.2024", "%m/%d/%y": "1/11/24"}
_QUESTIONS = (
    "SELECT COUNT(*) AS n FROM t",
    "SELECT x, COUNT(*) AS n FROM t WHERE x IN ('NA', 'b', 'é') GROUP BY x",
    "SELECT SUM(cost) AS s FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE YEAR(day) = 2024",
    "SELECT COUNT(DISTINCT id) AS n FROM t WHERE id <> 500",
)
_CODECS = {"windows-1252": "cp1252"}


def _row(form: TextFormat, person: int) -> list[str]:
    grouped = form.thousands and person % 2
    cost = f"1{form.thousands if grouped else ''}234{form.decimal}5"
    return [str(person), "éb"[person % 2], cost, _DAYS.get(form.date_format, "20240111")]


def _people(form: TextFormat) -> list[bytes]:
    """Forty people, one line each."""
    mark = form.separator or ","
    return [(mark.join(_row(form, person)) + "\r\n").encode(_codec(form)) for person in range(40)]


def _codec(form: TextFormat) -> str:
    return "utf-16-le" if form.encoding == "utf-16" else _CODECS.get(form.encoding, form.encoding)


def _hostile(form: TextFormat) -> dict[str, bytes]:
    """Lines of one person, each a whole line of the file."""
    mark = form.separator or ","
    codec = _codec(form)
    texts = {
        "a lone carriage return": f"500{mark}a\r1{mark}b",
        "carriage returns": f"500{mark}\r\r\r{mark}\r",
        "quoted lines": f'500{mark}"a\n1{mark}b\n2"{mark}5',
        "quotes inside": f'500{mark}a"b"c{mark}""{mark}5"',
        "a null byte": f"500{mark}a\0b{mark}\0",
        "too many fields": f"500{mark}" + f"a{mark}" * 500,
        "one field": "500",
        "nothing": "",
        "a huge field": f"500{mark}" + "a" * 3_000_000,
        "huge fields": f"500{mark}" + f"{'9' * 70_000}{mark}" * 3,
        "separators": mark * 20,
        "a bad number": f"500{mark}a{mark}1.2.3,4,5e999{mark}99.99.9999",
        "odd numbers": f"500{mark}-{mark}--1'{mark}0.0.0000",
        "dates at the ends": f"500{mark}a{mark}1{mark}9999-12-31 23:59:59-14:00",
        "the header": mark.join(("id", "x", "cost", "day")),
        "another kind of line": f"500{mark}a\u2028b\u0085c\u000bd\x1f",
        "a mark of byte order": f"\ufeff500{mark}a",
    }
    lines = {name: (text + "\r\n").encode(codec, errors="replace") for name, text in texts.items()}
    if form.encoding != "utf-16":
        for name, odd in {"bytes": b"\xff\xfe\x81", "half": b"\xc3", "long": b"\xf0\x9f"}.items():
            lines[f"invalid: {name}"] = b"500" + mark.encode() + odd + b"\r\n"
    else:
        lines["half a pair"] = b"5\x000\x000\0;\0\x00\xd8\r\0\n\0"
    return lines


def _write(path: Path, form: TextFormat, lines: list[bytes]) -> Source:
    names = (form.separator or ",").join(("id", "x", "cost", "day")) + "\r\n"
    start = names.encode(_codec(form)) if form.header else b""
    if form.encoding == "utf-16":
        start = b"\xff\xfe" + start
    content = start + b"".join(lines)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return Source(engine="duckdb", files=str(path), format=form)


def _apart(without: Source, with_person: Source) -> list[str]:
    found = []
    for sql in _QUESTIONS:
        before, after = (asked(catalog(one, _FACTS), sql) for one in (without, with_person))
        assert not isinstance(before, tuple), before
        found += [f"{sql}: {it}" for it in apart(before, after)]
    return found


@pytest.mark.parametrize("name", list(_FORMATS))
def test_no_lines_change_how_others_are_read(name: str, tmp_path: Path) -> None:
    form = _FORMATS[name]
    people, hostile = _people(form), list(_hostile(form).values())
    without = _write(tmp_path / "without.csv", form, people)
    mixed = [line for pair in zip(people, hostile, strict=False) for line in pair]
    with_person = _write(tmp_path / "with.csv", form, [*mixed, *people[len(hostile) :]])
    assert _apart(without, with_person) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", list(_FORMATS))
def test_no_line_changes_how_others_are_read(name: str, tmp_path: Path) -> None:
    form = _FORMATS[name]
    people = _people(form)
    without = _write(tmp_path / "without.csv", form, people)
    for kind, line in _hostile(form).items():
        lines = [*people[:7], line, *people[7:]]
        assert _apart(without, _write(tmp_path / "with.csv.gz", form, lines)) == [], kind


@pytest.mark.parametrize("form", [_FORMATS["usual"], _GERMAN], ids=["usual", "german"])
def test_what_was_declared_is_what_is_read(form: TextFormat, tmp_path: Path) -> None:
    """Otherwise nobody would be read, and nothing could be told apart."""
    source = _write(tmp_path / "t.csv", form, _people(form))
    seen = [asked(catalog(source, _FACTS), sql) for sql in _QUESTIONS[:4]]
    assert [one.drawn[0].values for one in seen if not isinstance(one, tuple)] == [
        [40],
        [0, 20, 20],
        [40 * 2469],
        [40],
    ]


@pytest.mark.parametrize("seed", range(4))
def test_pythons_own_csv_forges_no_rows(seed: int, tmp_path: Path) -> None:
    """It leaves carriage returns without quotes where lines end in line feeds."""
    draw = random.Random(seed)
    pieces = ('"', "\r", "\n", "\r\n", ";", "a", "3;b", "\t", "", " ")
    own = [(500, "".join(draw.choices(pieces, k=draw.randint(1, 8)))) for _ in range(20)]
    sources: list[Source] = []
    for name, more in (("without", []), ("with", own)):
        rows: list[Any] = [(number, "éb"[number % 2], "1", "") for number in range(30)]
        rows += [(*row, "2", "") for row in more]
        draw.shuffle(rows)
        out = io.StringIO(newline="")
        csv.writer(out, delimiter=";", lineterminator="\n").writerows(rows)
        sources.append(_write(tmp_path / f"{name}.csv", _GERMAN, [out.getvalue().encode()]))
    assert _apart(*sources) == []


_LINES = {
    "broken": b'{"id": 500, "x": "a\n',
    "not an object": b"[500]\n",
    "an endless number": b'{"id": 500, "cost": ' + b"9" * 100_000 + b"}\n",
    "a huge text": b'{"id": 500, "x": "' + b"a" * 3_000_000 + b'"}\n',
    "deep": b'{"id": 500, "x": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n",
    "names twice": b'{"id": 500, "id": 1, "x": "b", "x": "c"}\n',
    "not UTF-8": b'{"id": 500, "x": "\xff\xfe"}\n',
    "a null character": b'{"id": 500, "x": "\\u0000"}\n',
    "half a pair": b'{"id": 500, "x": "\\ud800"}\n',
    "a carriage return": b'{"id": 500, "x": "b"}\r{"id": 1, "x": "b"}\n',
    "two objects": b'{"id": 500} {"id": 1}\n',
    "a separator": b'{"id": 500, "x": "\x1f"}\n',
    "quotes": b'"{""id"": 500}"\n',
    "nothing": b"\n\n",
    "a number": b'{"id": 5e2, "cost": 1e999, "day": "0000-00-00"}\n',
}


def test_no_line_of_json_changes_how_others_are_read(tmp_path: Path) -> None:
    people = [
        f'{{"id": {n}, "x": "{"éb"[n % 2]}", "cost": {n}.5, "day": "2024-01-11"}}\n'.encode()
        for n in range(40)
    ]
    mixed = [line for pair in zip(people, _LINES.values(), strict=False) for line in pair]
    sources = []
    for file, lines in (("without", people), ("with", [*mixed, *people[len(_LINES) :]])):
        path = tmp_path / f"{file}.jsonl"
        path.write_bytes(b"".join(lines))
        sources.append(Source(engine="duckdb", files=str(path)))
    assert _apart(*sources) == []


def test_a_file_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    from quaestor.curator.engines import engine_for
    from quaestor.curator.kernel.measures import Units
    from tests.curator.engines.answers import measured
    from tests.curator.engines.queries import asked as query

    source = _write(tmp_path / "t.csv", _GERMAN, _people(_GERMAN))
    engine = engine_for(catalog(source, _FACTS), ["t"])
    for count in (40, 3):
        _write(tmp_path / "t.csv", _GERMAN, _people(_GERMAN)[:count])
        assert measured(engine, query("t", unit="id"), [Units()]).units == [count]
    engine.close()
