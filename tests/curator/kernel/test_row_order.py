"""The order in which cells count: the same number on all engines, and no cell is preferred."""

from __future__ import annotations

import random
from math import sqrt
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import psycopg
import pytest

from quaestor.curator.catalog.model import Catalog, Source, Table
from quaestor.curator.engines import engine_for
from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.engines.postgres.dialect import POSTGRES
from quaestor.curator.engines.spark.dialect import SPARK
from quaestor.curator.kernel.row_limits import mark_of
from quaestor.curator.scalars.scalar import SQL
from tests.curator.engines.oracle import mark

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.scalars.dialect import Dialect

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

_PARTS = ["u", "g", "p0", "p1"]
_NEAR = (0, 2**22, 2**31 - 1, 2**31, 2**32, 2**44, 2**53, 2**62, 2**63 - 1)
_EXTREMES = sorted({sign * (near + by) for near in _NEAR for by in (-1, 0, 1) for sign in (1, -1)})
_FIT = [value for value in [*_EXTREMES, -(2**63)] if -(2**63) <= value < 2**63]


def _rows() -> list[tuple[int | None, ...]]:
    draw = random.Random(3)
    values = [draw.choice((value, draw.getrandbits(64) - 2**63)) for value in _FIT]
    codes = [*_FIT, *values, None, None, None]
    some = [
        (draw.choice(_FIT), draw.choice((0, 1, 99_999)), draw.choice(codes), draw.choice(codes))
        for _ in range(500)
    ]
    return [
        *((unit, 0, unit, None) for unit in _FIT),
        *((1, 7, code, code) for code in codes),
        *some,
    ]


def _statement(dialect: Dialect, table: str) -> str:
    marked = mark_of(SQL(dialect), _PARTS, whole=True)
    return f"SELECT u, g, p0, p1, {marked} FROM {table}"


def _check(found: list[tuple[Any, ...]], rows: list[tuple[int | None, ...]]) -> None:
    assert len(found) == len(rows)
    assert {tuple(row) for row in found} == {(*row, mark(*row)) for row in rows}


def test_duckdb_has_the_marks_of_the_definition() -> None:
    rows = _rows()
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (u BIGINT, g INT, p0 BIGINT, p1 BIGINT)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        _check(connection.execute(_statement(DUCKDB, "t")).fetchall(), rows)


def test_postgres_has_the_marks_of_the_definition(postgres_address: str) -> None:
    rows = _rows()
    with psycopg.connect(postgres_address) as connection:
        connection.execute("CREATE TEMP TABLE t (u bigint, g int, p0 bigint, p1 bigint)")
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        _check(connection.execute(_statement(POSTGRES, "t")).fetchall(), rows)
        connection.rollback()


def test_spark_has_the_marks_of_the_definition(tmp_path: Path, spark_master: str) -> None:
    rows = _rows()
    table = Table(
        name="t", source=Source(engine="spark", connection=spark_master), unit=None, columns=()
    )
    engine = engine_for(Catalog(tables=(table,), ledger="", folder=str(tmp_path)), ["t"])
    texts = (", ".join("NULL" if value is None else f"'{value}'" for value in row) for row in rows)
    values = ", ".join(f"({text})" for text in texts)
    read = ", ".join(f"CAST({name} AS BIGINT) AS {name}" for name in _PARTS)
    source = f"(SELECT {read} FROM (VALUES {values}) AS v(u, g, p0, p1)) t"
    _check(engine.connection.rows(_statement(SPARK, source)), rows)


_UNITS = {
    "in a row": "i",
    "below zero": "-i - 1",
    "multiples of 256": "i * 256",
    "multiples of 2**31": "i * 2147483648",
    "multiples of 2**44": "i * 17592186044416",
    "multiples of the prime": "i * 2147483647",
    "in millions": "i * 1000000",
    "at the end": "9223372036854775807 - i",
}
_CELLS = {
    "in a row": "j",
    "below zero": "-j",
    "days": "19000 + j",
    "hours": "1600000000000000 + j * 3600000000",
    "multiples of the prime": "j * 2147483647",
    "multiples of 2**40": "j * 1099511627776",
    "powers of two": "CAST(power(2, 2 * j) AS BIGINT)",
}
# Of all pairs these: each kind is in two, and each fault that was planted in the order and that any
# pair notices is noticed by several of them. The others are slow.
_QUICK = {
    "in a row": ("in a row", "multiples of 2**40", "powers of two"),
    "below zero": ("below zero", "multiples of 2**40"),
    "multiples of 256": ("days", "powers of two"),
    "multiples of 2**31": ("hours", "in a row"),
    "multiples of 2**44": ("hours", "multiples of 2**40"),
    "multiples of the prime": ("multiples of the prime", "powers of two"),
    "in millions": ("days", "multiples of the prime"),
    "at the end": ("below zero", "multiples of 2**40"),
}
_REGULAR = [
    pytest.param(
        units, cells, id=f"{units}-{cells}",
        marks=() if cells in _QUICK[units] else pytest.mark.slow,
    )
    for units in _UNITS
    for cells in _CELLS
]  # fmt: skip
_GROUPS, _KEPT, _MANY = 20, 5, 20_000


@pytest.mark.parametrize("groups", [5, 7, 12])
def test_one_of_few_cells_in_a_row_is_chosen_as_often(groups: int) -> None:
    """Of chi-squares with 4, 6 and 11 degrees of freedom: beyond 60 with less than 1e-8.

    The product of a polynomial's values at three points was up to 42 deviations off here.
    """
    marked, units = mark_of(SQL(DUCKDB), ["u", "g"], whole=True), 500_000
    rows = f"SELECT i AS u, j AS g FROM range({units}) a(i), range({groups}) b(j)"
    with duckdb.connect() as connection:
        first = f"SELECT arg_min(g, {marked}) AS g FROM ({rows}) GROUP BY u"
        found = connection.execute(f"SELECT g, COUNT(*) FROM ({first}) GROUP BY g").fetchall()
    expected = units / groups
    assert len(found) == groups
    assert sum((count - expected) ** 2 / expected for _, count in found) < 60.0


@pytest.mark.parametrize(("units", "cells"), _REGULAR)
def test_every_cell_of_regular_units_is_chosen_as_often(units: str, cells: str) -> None:
    """Chi-square of how often each cell is among the first five; 112 numbers are looked at.

    With random orders the two of one case are larger with a probability below 1e-6 each: of a
    chi-square with 19 degrees of freedom, and of 190 pairs of cells, beyond 6 deviations.
    """
    marked = mark_of(SQL(DUCKDB), ["u", "p0"], whole=True)
    rows = (
        f"SELECT {_UNITS[units]} AS u, j, {_CELLS[cells]} AS p0 "
        f"FROM range({_MANY}) a(i), range({_GROUPS}) b(j)"
    )
    placed = (
        f"SELECT u, j, row_number() OVER (PARTITION BY u ORDER BY {marked}, p0) AS place "
        f"FROM ({rows})"
    )
    with duckdb.connect() as connection:
        found = connection.execute(
            f"SELECT list(j) FROM ({placed}) WHERE place <= {_KEPT} GROUP BY u"
        ).fetchall()
    chosen = np.array([row[0] for row in found])
    assert chosen.shape == (_MANY, _KEPT)
    there = np.zeros((_MANY, _GROUPS))
    np.put_along_axis(there, chosen, 1.0, axis=1)
    share = _KEPT / _GROUPS
    variance = _MANY * share * (1 - share) * _GROUPS / (_GROUPS - 1)
    assert float(((there.sum(axis=0) - _MANY * share) ** 2).sum() / variance) < 67.0
    pairs = (there.T @ there)[np.triu_indices(_GROUPS, 1)]
    together = share * (_KEPT - 1) / (_GROUPS - 1)
    deviation = sqrt(_MANY * together * (1 - together))
    assert float(np.abs(pairs - _MANY * together).max() / deviation) < 6.0
