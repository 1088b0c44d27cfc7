"""What a table can hold beyond what a question can say: files and decimals that are all wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quaestor.curator import Curator

if TYPE_CHECKING:
    from pathlib import Path

_CATALOG = """
[tables.t]
{source}
unit = "id"
rows = 1
groups = 1
[tables.t.columns]
id = "integer"
city = "text"
x = {{ kind = "real", low = 0.0, high = 10.0, granularity = 1.0 }}
day = "date"
[accounts.a]
epsilon = 10000.0
delta = 1e-6
"""
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM t",
    "SELECT SUM(x) AS n FROM t",
    "SELECT city, COUNT(*) AS n FROM t GROUP BY city",
    "SELECT COUNT(*) AS n FROM t WHERE day > '2024-01-01'",
    "SELECT COUNT(DISTINCT city) AS n FROM t",
)
LINES = {
    "not UTF-8": b"500,\xff\xfe\xc3(,1,x\n",
    "a surrogate": b"500,\xed\xa0\x80,1,x\n",
    "a null byte": b"500,a\0b,1,x\n",
    "an open quote": b'500,"Rome,1,x\n',
    "quotes inside": b'500,a"b"c,1,x\n',
    "two lines in quotes": b'500,"a\nb",1,x\n',
    "a carriage return": b"500,a\rb,1,x\n",
    "another end of the line": b"500,ab,1,x\r\n",
    "too many columns": b"500,a,b,c,d,e,f,g\n",
    "too few columns": b"500\n",
    "empty lines": b"\n\n\n",
    "three million letters": b"500," + b"a" * 3_000_000 + b",1,x\n",
    "a unit that is no number": b"Jane Doe,Ulm,1,x\n",
    "a unit beyond 64 bits": b"99999999999999999999999,Ulm,1,x\n",
}


def shapes(path: Path, source: str) -> list[object]:
    """The names and groups of every answer; an error would fail the test."""
    (path / "quaestor.toml").write_text(_CATALOG.format(source=source), encoding="utf-8")
    found: list[object] = []
    with Curator.from_file(path / "quaestor.toml") as curator:
        curator.open_account("a")
        for question in QUESTIONS:
            answer = curator.ask(question, epsilon=10.0)
            keys = [column.values for column in answer.columns if not column.figure]
            found.append((len(answer), keys))
    return found


@pytest.fixture(scope="module")
def ordinary() -> bytes:
    return b"id,city,x,day\n" + b"".join(
        b"%d,Rome,%d,2024-01-15\n" % (number, number % 9) for number in range(100)
    )


@pytest.mark.parametrize("line", list(LINES.values()), ids=list(LINES))
def test_no_line_of_a_csv_file_makes_it_unreadable(
    line: bytes, ordinary: bytes, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_bytes(ordinary + line)
    assert shapes(tmp_path, 'file = "t.csv"') == [
        (1, []),
        (1, []),
        (1, [("Rome",)]),
        (1, []),
        (1, []),
    ]


def test_no_decimal_or_date_of_postgres_makes_a_question_fail(
    postgres_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE hostile_values")
    address = postgres_address.replace("/postgres?", "/hostile_values?")
    monkeypatch.setenv("QUAESTOR_TEST_HOSTILE_VALUES", address)
    found = []
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (id BIGINT, city TEXT, x NUMERIC, day TIMESTAMP)")
        connection.execute(
            "INSERT INTO t SELECT i, 'Rome', 3, '2024-01-15' FROM generate_series(1, 100) r (i)"
        )
        for folder in ("without", "with"):
            (tmp_path / folder).mkdir()
            source = 'environment = "QUAESTOR_TEST_HOSTILE_VALUES"\ntable = "t"'
            found.append(shapes(tmp_path / folder, source))
            for x in ("'NaN'", "'Infinity'", "'-Infinity'", "1e1000", "-1e1000", "1e-1000"):
                for day in ("infinity", "-infinity", "4713-01-01 BC", "294276-12-31"):
                    values = f"(500, repeat('x', 1000000), {x}::numeric, '{day}')"
                    connection.execute(f"INSERT INTO t VALUES {values}".encode())
    without, with_target = found
    assert without == with_target
