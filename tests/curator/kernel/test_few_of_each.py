"""Ranking only the units over a limit keeps the rows that ranking everybody keeps."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import psycopg

from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.engines.postgres.dialect import POSTGRES
from quaestor.curator.kernel.row_limits import few_of_each, md5_of
from quaestor.curator.scalars.scalar import SQL

if TYPE_CHECKING:
    from quaestor.curator.scalars.dialect import Dialect

_NAMES = ["u", "p0", "n"]
_TABLES = ("held", "over_limit")  # as the kernel calls its own


def _wrongs(connection: Any, dialect: Dialect, place: str) -> list[str]:
    wrong, ranked = [], 0
    for seed in range(12):
        chosen = random.Random(seed)
        units = chosen.randint(1, 12)
        some = [
            (chosen.randrange(units), chosen.choice([None, 1, 2, 3, 4]), chosen.randrange(3))
            for _ in range(chosen.randint(0, 40))
        ]
        name = chosen.choice(_TABLES)
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(f"CREATE TABLE {name} (u BIGINT, p0 BIGINT, n BIGINT)")
        if some:
            values = ", ".join(f"({u}, {'NULL' if p is None else p}, {n})" for u, p, n in some)
            connection.execute(f"INSERT INTO {name} VALUES {values}")
        rows = f"SELECT u, p0, n FROM {place}{name} AS t"
        for most in (1, 2, 3, 50):
            for kind, by in (("dense_rank", ["u", "p0"]), ("row_number", _NAMES)):
                order = ", ".join([md5_of(SQL(dialect), by), *by])
                rank = f"{kind}() OVER (PARTITION BY u ORDER BY {order})"
                everybody = replace(dialect, common_table=None)
                found = [
                    connection.execute(
                        few_of_each(SQL(each), rows, _NAMES, rank=rank, most=most)
                    ).fetchall()
                    for each in (dialect, everybody)
                ]
                one, other = ([tuple(map(str, row)) for row in each] for each in found)
                if sorted(one) != sorted(other):
                    wrong.append(f"{seed}, {most}, {kind}")
                ranked += len(one) < len(some)
    assert ranked > 20
    return wrong


def test_duckdb_keeps_the_same_rows() -> None:
    with duckdb.connect() as connection:
        assert not _wrongs(connection, DUCKDB, "memory.main.")


def test_postgres_keeps_the_same_rows(postgres_address: str) -> None:
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        assert not _wrongs(connection, POSTGRES, "")
        for name in _TABLES:
            connection.execute(f"DROP TABLE IF EXISTS {name}")
