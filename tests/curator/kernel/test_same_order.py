"""DuckDB and PostgreSQL order rows alike: the MD5 of values of every kind is the same on both."""

from __future__ import annotations

import datetime as dt
import math
import random
import struct
from typing import TYPE_CHECKING, Any

import duckdb
import psycopg
import pytest

from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.engines.postgres.dialect import POSTGRES
from quaestor.curator.kernel.row_limits import md5_of
from quaestor.curator.scalars.scalar import SQL

if TYPE_CHECKING:
    from collections.abc import Callable

_MANY = 4000
_LETTERS = "aZ09 ;-:'\"\\%_\n\t,éßİı𝔄😀\u0301\ufffd"


def _real(draw: random.Random) -> float:
    """Of all magnitudes, many of them whole, or next to where engines begin to print exponents."""
    bits = struct.unpack("<d", struct.pack("<Q", draw.getrandbits(64)))[0]
    near = draw.choice((1e-5, 1e-4, 1.0, 1e15, 1e16, 1e17, 2.0**53, 2.0**62, 9e18, 1e19, 1e22))
    return draw.choice(
        (
            bits if math.isfinite(bits) else 0.0,
            draw.uniform(-1e3, 1e3),
            draw.randrange(-(10**6), 10**6) / 100,
            float(draw.randrange(-(10**6), 10**6)),
            draw.uniform(-1.0, 1.0) * 10.0 ** draw.randrange(-45, 25),
            math.nextafter(near, draw.choice((0.0, math.inf))) * draw.choice((1.0, -1.0)),
            near * draw.choice((1.0, -1.0, 0.0, -0.0)),
        )
    )


def _time(draw: random.Random) -> dt.datetime:
    part = draw.choice((1, 10, 1000, 100_000, 10**6, 86_400 * 10**6))
    microseconds = part * draw.randrange(86_400 * 10**6 // part)
    days = dt.timedelta(days=draw.randrange(3_652_059), microseconds=microseconds)
    return dt.datetime.min + days  # noqa: DTZ901  # without a zone


_KINDS: dict[str, tuple[str, Callable[[random.Random], Any]]] = {
    "integer": ("BIGINT", lambda draw: draw.getrandbits(64) - 2**63 >> draw.randrange(64)),
    "real": ("DOUBLE PRECISION", _real),
    "text": ("VARCHAR", lambda draw: "".join(draw.choices(_LETTERS, k=draw.randrange(6)))),
    "boolean": ("BOOLEAN", lambda draw: draw.random() < 0.5),
    "date": ("DATE", lambda draw: _time(draw).date()),
    "timestamp": ("TIMESTAMP", _time),
}


@pytest.mark.parametrize("kind", _KINDS)
def test_values_of_every_kind_are_ordered_alike(kind: str, postgres_address: str) -> None:
    stored, one = _KINDS[kind]
    draw = random.Random(kind)
    values = [None if draw.random() < 0.02 else one(draw) for _ in range(_MANY)]
    reals = {"v"} if kind == "real" else set()
    listed = "SELECT i, {}, v IS NULL FROM t ORDER BY {}, v, i"
    by_duckdb, by_postgres = (
        listed.format(*[md5_of(SQL(dialect), ["v"], reals)] * 2) for dialect in (DUCKDB, POSTGRES)
    )
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT UNNEST($1::{stored}[]) AS v", [values])
        connection.execute("ALTER TABLE t ADD COLUMN i BIGINT")
        connection.execute("UPDATE t SET i = rowid")
        found = connection.execute(by_duckdb).fetchall()
    with psycopg.connect(postgres_address) as connection:
        connection.execute(f"CREATE TEMP TABLE t (i bigint, v {stored})")
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            for row in enumerate(values):
                copy.write_row(row)
        assert connection.execute(by_postgres).fetchall() == found
        connection.rollback()


def test_floats_that_are_printed_otherwise_would_be_ordered_otherwise(
    postgres_address: str,
) -> None:
    """Why floats are not just cast to text: ``1`` is ``1.0`` to one of them."""
    by = [md5_of(SQL(dialect), ["v"]) for dialect in (DUCKDB, POSTGRES)]
    with duckdb.connect() as connection:
        one = connection.execute(f"SELECT {by[0]} FROM (SELECT 1::DOUBLE AS v)").fetchall()
    with psycopg.connect(postgres_address) as connection:
        other = connection.execute(f"SELECT {by[1]} FROM (SELECT 1::float8 AS v) t").fetchall()
    assert one != other
