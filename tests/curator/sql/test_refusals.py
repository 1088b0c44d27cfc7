"""Questions that are refused: where, why, and what to write instead."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from quaestor.curator.sql import parse_question as parse
from quaestor.errors import RefusedQuery
from tests.curator.sql.hospital import CATALOG

LISTED = tomllib.loads((Path(__file__).parent / "refused.toml").read_text(encoding="utf-8"))[
    "cases"
]
COUNT, WHERE = "SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits WHERE"
SELVES = "".join(f" JOIN visits v{i} ON v{i}.patient = a.patient" for i in range(9))
FLAGS = ", ".join(f"age > {i}" for i in range(20))
SUMS = ", ".join(f"SUM(age + {i})" for i in range(150))
MANY = " UNION ALL ".join(f"{WHERE} age > {i}" for i in range(1, 66))
POWERS = "POW(" * 5 + "CLAMP(age, 0, 1)" + ", 8)" * 5
GENERATED = [
    (f"{COUNT} a{SELVES}", "more than 8 tables", "fewer"),
    ("", "only SELECT", "SELECT COUNT(*)"),
    ("   ", "only SELECT", "SELECT COUNT(*)"),
    (f"{WHERE} city = '\x00'", "the text contains an invalid character", "remove it"),
    (f"{WHERE} city = '\ud800'", "the text contains an invalid character", "remove it"),
    (f"{COUNT} {' ' * 20_000}", "20,000", "shorter"),
    (f"{WHERE} {'(' * 30}smoker{')' * 30}", "deeply", "WITH"),
    (f"SELECT SUM({'age + ' * 60}1) FROM visits", "deeply", "WITH"),
    (f"SELECT SUM({'change * ' * 12}1) FROM visits", "10^15", "CLAMP"),
    (f"SELECT SUM({'change / 3000.7 * ' * 9}0) FROM visits", "too small", "ROUND"),
    (f"{WHERE} {'NOT ' * 3000}smoker", "deeply", "WITH"),
    (f"{WHERE} {'(' * 9000}", "deeply", "WITH"),
    (f"{WHERE} {'age > 3 AND ' * 1200}smoker", "2,000 parts", "simpler"),
    (f"{WHERE} age IN ({', '.join('7' * 1001)})", "1,000", "join"),
    (f"SELECT {', '.join(['COUNT(*)'] * 300)} FROM visits", "200 outputs", "several"),
    (f"SELECT {SUMS} FROM visits", "100 aggregates", "several"),
    (f"{COUNT} GROUP BY {FLAGS}", "10 keys", "fewer"),
    (f"{WHERE} {POWERS} = 1", "5,000 parts", "name parts of it in a subquery, and use the names"),
    (f"{WHERE} age > 0 UNION ALL {MANY}", "more than 64 questions", "ask some of them separately"),
    (f"{COUNT} GROUP BY GROUPING SETS ({', '.join(['sex'] * 500)})", "64 grouping", "name those"),
]
REFUSED = [*(tuple(case) for case in LISTED), *GENERATED]


@pytest.mark.parametrize(
    ("text", "reason", "remedy"), REFUSED, ids=[row[0][:80] for row in REFUSED]
)
def test_a_refusal_says_why_and_what_to_write_instead(text: str, reason: str, remedy: str) -> None:
    with pytest.raises(RefusedQuery) as caught:
        parse(text, CATALOG)
    assert reason in caught.value.reason
    assert remedy in caught.value.remedy
    assert caught.value.remedy
    assert caught.value.remedy in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("SELECT MIN(age) FROM visits", 1, 8),
        ("SELECT sex,\n  COUNT(*),\n  MAX(age)\nFROM visits GROUP BY sex", 3, 3),
        ("SELECT COUNT(*)\nFROM visits\nWHERE agee > 3", 3, 7),
        ("SELECT COUNT(*)\r\nFROM visit", 2, 6),
        ("SELECT COUNT(*) FROM visits\nWHERE (age > 3", 2, 14),
        ("SELECT COUNT(*)\nFROM visits WHERE age = = 3", 2, 25),
        ("UPDATE visits SET age = 3", 1, 1),
        ("SELECT COUNT(*) FROM visits\nGROUP BY cost", 2, 10),
    ],
)
def test_a_refusal_points_to_the_place(text: str, line: int, column: int) -> None:
    with pytest.raises(RefusedQuery) as caught:
        parse(text, CATALOG)
    assert (caught.value.line, caught.value.column) == (line, column)
    message, excerpt, pointer = str(caught.value).split("\n")
    assert message.startswith(f"line {line}, column {column}: ")
    assert excerpt.strip() == text.replace("\r", " ").split("\n")[line - 1].strip()
    assert pointer == " " * (len(pointer) - 1) + "^"
    assert pointer.index("^") == column - 1 + 2


def test_a_long_line_is_shown_around_the_place() -> None:
    text = "SELECT " + "COUNT(*), " * 30 + "MIN(age) FROM visits"
    with pytest.raises(RefusedQuery) as caught:
        parse(text, CATALOG)
    _, excerpt, pointer = str(caught.value).split("\n")
    assert excerpt[pointer.index("^") :].startswith("MIN(age)")
    assert len(excerpt) < 100


@pytest.mark.parametrize("value", [0, -1, 21, True, 2.5, "3"])
def test_contributions_cannot_be_more_than_declared(value: object) -> None:
    with pytest.raises(RefusedQuery, match="from 1 to 20"):
        parse("SELECT COUNT(*) FROM visits", CATALOG, rows=value)  # type: ignore[arg-type]


def test_what_is_not_a_text_is_refused() -> None:
    with pytest.raises(RefusedQuery, match="a text"):
        parse(b"SELECT 1", CATALOG)  # type: ignore[arg-type]


def test_nested_types_take_no_exponential_time() -> None:
    text = "SELECT COUNT(*) FROM visits WHERE " + "ROW(" * 24 + "1" + ")" * 24
    with pytest.raises(RefusedQuery, match="ROW is not supported as a function"):
        parse(text, CATALOG)
