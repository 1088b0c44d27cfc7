"""Adding up the rows of units within limits gives the numbers of adding up by unit first."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb
import psycopg

from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.engines.postgres.dialect import POSTGRES
from quaestor.curator.kernel.measurement import Cells
from quaestor.curator.kernel.measures import Measure, RowCount, Total, Units, ValueCounts
from quaestor.curator.kernel.question_statements import statements_of
from quaestor.curator.kernel.relations import EngineRows
from quaestor.curator.kernel.statement import StatementAuthor
from quaestor.curator.kernel.sums_statement import sums_statement
from quaestor.curator.language.expressions import Column
from quaestor.curator.scalars.scalar import SQL, Scalar
from tests.curator.kernel.pointed import declared, private

if TYPE_CHECKING:
    from quaestor.curator.scalars.dialect import Dialect

_TABLES = ("held", "pairs", "over_limit")  # as the kernel calls its own
_TOTAL = Total(operand=Column("x"), low=0, high=3, step=1.0, rows=2)
_KEYS = {
    "none": (),
    "private": (private("k", "integer"),),
    "declared": (declared("k", "integer", 1, 2, 3, None),),
    "both": (private("k", "integer"), declared("j", "integer", 0, 1)),
}


def _author(name: str, cells: Cells, dialect: Dialect) -> StatementAuthor:
    columns = {
        each: Scalar(sql=f"c{at}", kind="integer", low=-100.0, high=100.0, whole=True)
        for at, each in enumerate(("k", "j", "x", "y"))
    }
    rows = EngineRows(
        sql=f"SELECT u, c0, c1, c2, c3 FROM {name} AS t",
        columns=columns,
        unit=Scalar(sql="u", kind="integer"),
    )
    return StatementAuthor(rows, cells, SQL(dialect))


def _measures(chosen: random.Random) -> tuple[Measure, ...]:
    made: list[Measure] = [
        Total(
            operand=Column(chosen.choice("xy")),
            low=chosen.choice([-9, -2, 0, 3]),
            high=chosen.choice([3, 4, 40]),
            step=chosen.choice([1.0, 0.5]),
            rows=chosen.randint(1, 4),
        )
        for _ in range(chosen.randint(4, 6))
    ]
    made += chosen.sample([Units(), RowCount(rows=2), RowCount(rows=3, operand=Column("x"))], 2)
    chosen.shuffle(made)
    return tuple(dict.fromkeys(made))


def _fill(connection: Any, name: str, chosen: random.Random) -> int:
    units = chosen.randint(1, 9)
    rows = [
        (chosen.randrange(units), *(chosen.choice([None, 0, 1, 2, 3, 50]) for _ in range(4)))
        for _ in range(chosen.choice([0, 3, 40, 80]))
    ]
    connection.execute(f"DROP TABLE IF EXISTS {name}")
    columns = ", ".join(f"c{at} BIGINT" for at in range(4))
    connection.execute(f"CREATE TABLE {name} (u BIGINT, {columns})")
    for row in rows:
        values = ", ".join("NULL" if value is None else str(value) for value in row)
        connection.execute(f"INSERT INTO {name} VALUES ({values})")
    return len(rows)


def _wrongs(connection: Any, dialect: Dialect, place: str) -> list[str]:
    wrong, over = [], 0
    everybody = replace(dialect, common_table=None)

    def rows(sql: str) -> list[tuple[str, ...]]:
        return sorted(tuple(map(str, row)) for row in connection.execute(sql).fetchall())

    for seed in range(8):
        chosen = random.Random(seed)
        name = chosen.choice(_TABLES)
        size = _fill(connection, name, chosen)
        for which, keys in _KEYS.items():
            cells = Cells(keys=keys, groups=chosen.choice([1, 2, 8]))
            quick, slow = (_author(place + name, cells, each) for each in (dialect, everybody))
            measures = _measures(chosen)
            written = sums_statement(quick, measures)
            assert "UNION ALL" in written
            if rows(written) != rows(slow.plain(measures)):
                wrong.append(f"sums: {seed}, {which}")
            ranks = ValueCounts(
                operand=Column("x"), low=0, high=3, step=1.0, rows=chosen.randint(1, 4)
            )
            found = rows(quick.histogram(ranks))
            if found != rows(slow.histogram(ranks)):
                wrong.append(f"ranks: {seed}, {which}")
            over += sum(int(row[-1]) for row in found) < size
    assert over > 10
    return wrong


def test_duckdb_has_the_same_numbers() -> None:
    with duckdb.connect() as connection:
        assert not _wrongs(connection, DUCKDB, "memory.main.")


def test_postgres_has_the_same_numbers(postgres_address: str) -> None:
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        assert not _wrongs(connection, POSTGRES, "")
        for name in _TABLES:
            connection.execute(f"DROP TABLE IF EXISTS {name}")


class _Careless(SQL):
    """Makes far too many steps of every number."""

    def integer(self, value: str, bits: int = 64) -> str:
        """A thousand times as many."""
        return super().integer(f"1000 * {value}", bits)


def test_no_row_adds_more_than_its_bounds_whatever_made_steps_of_it() -> None:
    totals = tuple(
        Total(operand=Column("x"), low=-at, high=at, step=0.5, rows=2) for at in range(1, 5)
    )
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (u BIGINT, c0 INT, c1 INT, c2 BIGINT, c3 INT)")
        connection.execute("INSERT INTO t (u, c2) VALUES (1, 50), (1, 40), (2, -7), (3, 9)")
        author = _author("t", Cells(keys=(), groups=1), DUCKDB)
        for sql in (SQL(DUCKDB), _Careless(DUCKDB)):
            written = sums_statement(replace(author, sql=sql), totals)
            # two rows of the first unit, and one of each other
            assert connection.execute(written).fetchall() == [(3, 2, 4, 6, 8)]


def test_few_sums_and_many_columns_are_added_up_by_unit() -> None:
    author = _author("t", Cells(keys=(), groups=1), DUCKDB)
    totals = [Total(operand=Column("x"), low=0, high=at, step=1.0, rows=1) for at in range(1, 5)]
    for some, quick in ((totals[:3], author.plain), (totals, partial(sums_statement, author))):
        made = statements_of(author.rows, author.cells, some, author.sql)
        assert [each.sql for each in made] == [quick(tuple(some))]
    assert sums_statement(author, totals) != author.plain(totals)
    one_row = replace(author, rows=replace(author.rows, single=True))
    assert sums_statement(one_row, totals) == one_row.plain(totals)


def test_a_median_of_declared_groups_reads_the_table_once() -> None:
    ranks = ValueCounts(operand=Column("x"), low=0, high=3, step=1.0, rows=2)
    for which, keys in _KEYS.items():
        cells = Cells(keys=keys, groups=2)
        author = _author("t", cells, DUCKDB)
        made = statements_of(author.rows, cells, [ranks], author.sql)
        assert len(made) == (2 if cells.count is None else 1), which


def test_duckdb_does_not_look_for_different_units_again_to_part_them() -> None:
    """A join on values of all rows (a "delim" join) would cost more than finding who is over."""
    ranks = ValueCounts(operand=Column("x"), low=0, high=3, step=1.0, rows=2)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (u BIGINT, c0 INT, c1 INT, c2 BIGINT, c3 INT)")
        connection.execute("INSERT INTO t SELECT range, range, range, range, 0 FROM range(9)")
        for which, keys in _KEYS.items():
            for groups in (1, 8):
                author = _author("t", Cells(keys=keys, groups=groups), DUCKDB)
                totals = [replace(_TOTAL, high=high) for high in range(4)]
                for sql in (author.histogram(ranks), sums_statement(author, totals)):
                    plan = connection.execute(f"EXPLAIN {sql}").fetchall()
                    assert "DELIM" not in str(plan), (which, groups)
