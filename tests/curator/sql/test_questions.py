"""Questions that are answered: what they mean is what DuckDB makes of the same text."""

from __future__ import annotations

import random
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from quaestor.curator.sql import parse
from tests.curator.sql.hospital import CATALOG, TABLES, create, random_rows
from tests.curator.sql.interpreter import answer

PARTS = tomllib.loads((Path(__file__).parent / "answered.toml").read_text(encoding="utf-8"))
STATEMENTS = [
    *(f"SELECT {text} AS x FROM visits" for text in PARTS["aggregates"]),
    *(f"SELECT SUM({text}) AS x FROM visits" for text in PARTS["numbers"]),
    *(f"SELECT sex, AVG({text}) AS x FROM visits GROUP BY sex" for text in PARTS["numbers"]),
    *(f"SELECT COUNT(*) AS n, SUM(age) AS s FROM visits WHERE {t}" for t in PARTS["conditions"]),
    *(f"SELECT {text}, COUNT(*) AS n FROM visits GROUP BY {text}" for text in PARTS["keys"]),
    *PARTS["whole"],
]
ROWS = {name: random_rows(table, random.Random(name), 120) for name, table in TABLES.items()}


@pytest.fixture(scope="module")
def engine() -> Any:
    """DuckDB with the same rows."""
    connection = duckdb.connect()
    connection.execute("CREATE MACRO clamp(x, low, high) AS "
                       "CASE WHEN x < low THEN low WHEN x > high THEN high ELSE x END")  # fmt: skip
    for name, table in TABLES.items():
        connection.execute(create(table))
        marks = ", ".join("?" for _ in table.columns)
        rows = [[row[column.name] for column in table.columns] for row in ROWS[name]]
        connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
    return connection


def comparable(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows that compare alike, whatever made them."""
    return sorted((_plain_row(row) for row in rows), key=repr)


def _plain_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_plain(value) for value in row)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int | float | Decimal):
        return float(f"{float(value):.5g}") + 0.0
    return str(value)[:10]  # dates


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_question_means_what_duckdb_makes_of_it(text: str, engine: Any) -> None:
    query = parse(text, CATALOG)
    found, left_out = answer(query, ROWS)
    expected = engine.sql(text).fetchall()
    if left_out:  # rows whose key is not declared are in no group
        expected = [row for row in expected if _plain_row(row) in comparable(found)]
    assert comparable(found) == comparable(expected)


def test_rows_outside_the_declared_keys_are_left_out_and_no_others() -> None:
    query = parse("SELECT sex, COUNT(*) FROM visits GROUP BY sex", CATALOG)
    _, left_out = answer(query, ROWS)
    assert left_out == [row for row in ROWS["visits"] if row["sex"] is None] != []


def test_there_are_hundreds_of_questions_and_no_two_are_alike() -> None:
    assert len(set(STATEMENTS)) == len(STATEMENTS) > 250
