"""Figures and what limits cut of them in one statement: the numbers of reading rows apart."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import duckdb
import psycopg
import pytest

from quaestor.curator.catalog.model import ColumnFacts, Source, Table
from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.engines.postgres.dialect import POSTGRES
from quaestor.curator.kernel.cut_measures import Beyond, Dropped, Excess
from quaestor.curator.kernel.figures import prepare
from quaestor.curator.kernel.measures import JointTotals, Measure, RowCount, Total, Units
from quaestor.curator.kernel.relations import Base
from quaestor.curator.language import expressions as e
from quaestor.curator.language import query as q
from tests.curator.kernel.pointed import column, declared, measured, private

if TYPE_CHECKING:
    from quaestor.curator.kernel.figures import Exact, Prepared
    from quaestor.curator.kernel.measurement import CellKey, Measurement
    from quaestor.curator.scalars.dialect import Dialect

_NAMES = ("placed", "held", "over_limit")  # as the kernel calls its own
_TYPES = {"u": "BIGINT", "k": "BIGINT", "x": "DOUBLE PRECISION", "y": "BIGINT", "t": "VARCHAR"}
_FACTS = (
    ColumnFacts(name="u", kind="integer"),
    ColumnFacts(name="k", kind="integer"),
    ColumnFacts(name="x", kind="real", low=-2.0, high=8.0, granularity=0.5),
    ColumnFacts(name="y", kind="integer", low=0.0, high=5.0, granularity=1.0),
    ColumnFacts(name="t", kind="text"),
)
_PUBLIC = Table(
    name="names",
    source=Source(engine="duckdb"),
    columns=(ColumnFacts(name="n", kind="integer"), ColumnFacts(name="z", kind="integer")),
)
_ROWS = q.Scan("t")


def _over(name: str, value: float) -> e.Expression:
    constant = e.Constant(value, "real" if name == "x" else "integer")
    return e.Comparison(">", column(name), constant)


_TWICE = e.Arithmetic("*", column("x"), e.Constant(2.0, "real"))
_SAME = {
    "all": _ROWS,
    "other columns": q.Filtered(_ROWS, e.Comparison("<>", column("t"), e.Constant("b", "text"))),
    "between bounds": q.Filtered(q.Filtered(_ROWS, _over("x", 1.0)), _over("y", 2)),
    "made of values": q.Projected(
        _ROWS, (("x", _TWICE), ("y", column("y")), ("k", column("k")), ("t", column("t")))
    ),
    "a public table": q.Join(_ROWS, q.Scan("names"), ((column("k"), column("n")),), "left"),
}
_APART = {
    "beyond bounds": q.Filtered(_ROWS, _over("x", 8.0)),
    "a union": q.Union((_ROWS, q.Filtered(_ROWS, _over("x", 1.0)))),
    "of values made before": q.Filtered(_SAME["made of values"], _over("x", 1.0)),
}
_KEYS: dict[str, tuple[CellKey, ...]] = {
    "none": (),
    "private": (private("k", "integer"),),
    "texts": (private("t", "text"),),
    "declared": (declared("k", "integer", 1, 2, 3, None),),
    "both": (private("t", "text"), declared("k", "integer", 0, 1, 2)),
}


@dataclass(frozen=True)
class _Place:
    """A table on a connection: what the kernel needs of a database."""

    connection: Any
    dialect: Dialect
    name: str
    unique: frozenset[str] = frozenset()

    def base(self, table: Table) -> Base:
        """The one table with its types, or the public one."""
        if table.name == "names":
            return Base(sql="names", types={"n": "BIGINT", "z": "BIGINT"})
        types = {name: kind.replace("VARCHAR", "TEXT") for name, kind in _TYPES.items()}
        return Base(sql=self.name, types=types, unique=self.unique)

    def table(self, name: str) -> Table:
        """A declared table."""
        if name == "names":
            return _PUBLIC
        return Table(name="t", source=_PUBLIC.source, columns=_FACTS, unit="u", dataset="d")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        found: list[tuple[Any, ...]] = self.connection.execute(sql).fetchall()
        return found

    columns = rows

    def kept_rows(self) -> None:
        """Nothing is kept."""

    def prepared(self, measurement: Measurement) -> Prepared:
        """A measurement's statements."""
        return prepare(measurement, table=self.table, wanted=set(_TYPES) | {"n"}, database=self)

    def exact(self, measurement: Measurement) -> Exact:
        """A measurement's exact figures."""
        return self.prepared(measurement).exact()


def _fill(connection: Any, name: str, chosen: random.Random, *, units: int, rows: int) -> None:
    connection.execute(f"DROP TABLE IF EXISTS {name}")
    listed = ", ".join(f"{column} {kind}" for column, kind in _TYPES.items())
    connection.execute(f"CREATE TABLE {name} ({listed})")
    made = [
        (
            chosen.choice(["NULL", *map(str, range(units))]),
            chosen.choice(["NULL", "0", "1", "2", "3", "9"]),
            chosen.choice(
                ["NULL", "'NaN'", "-1e9", "-3", "0.2", "1.3", "4", "7", "8.2", "33", "90"]
            ),
            chosen.choice(["NULL", "-4", "0", "1", "3", "5", "12", "70"]),
            chosen.choice(["NULL", "'a'", "'b'", "'B'", "''"]),
        )
        for _ in range(rows)
    ]
    if made:
        values = ", ".join(f"({', '.join(row)})" for row in made)
        connection.execute(f"INSERT INTO {name} VALUES {values}")
    connection.execute("DROP TABLE IF EXISTS names")
    connection.execute("CREATE TABLE names (n BIGINT, z BIGINT)")
    connection.execute("INSERT INTO names VALUES (0, 5), (1, 6), (1, 7), (NULL, 8)")


def _totals(chosen: random.Random) -> tuple[Total, Total, int]:
    operand: e.Expression = column(chosen.choice("xy"))
    if chosen.random() < 0.3:
        operand = e.Arithmetic("-", e.Constant(3.0, "real"), operand)
    step, times = chosen.choice([0.5, 1.0]), chosen.choice([1, 1, 2])
    low, high, rows = chosen.choice([-4, 0, 1]), chosen.choice([4, 9]), chosen.randint(1, 3)
    inner = Total(operand=operand, low=low, high=high, step=step, rows=rows)
    outer = replace(
        inner, low=low - 20, high=high + 40, step=step * times, rows=rows + chosen.randint(0, 4)
    )
    return inner, outer, times


def _measures(chosen: random.Random, *, grouped: bool) -> list[Measure]:
    made: list[Measure] = []
    beyond: list[Total] = []
    inner = _totals(chosen)[0]
    joint = JointTotals(totals=(inner, replace(inner, operand=column("y"))), bound=11)
    for _ in range(chosen.randint(1, 3)):
        inner, outer, times = _totals(chosen)
        low, high = chosen.choice([(0, 30), (-7, 11), (-99, 200)])
        made += [inner, Excess(inner=inner, outer=outer, low=low, high=high, times=times)]
        made += [Dropped(outer=outer, most=chosen.choice([3, 90]), times=times)] * grouped
        beyond.append(outer)
    few, many = RowCount(rows=chosen.randint(1, 2)), RowCount(rows=chosen.randint(2, 9))
    some = RowCount(rows=2, operand=column("x"))
    made += chosen.sample([few, some, Units(), Excess(inner=few, outer=many, low=0, high=5)], 3)
    made.append(Excess(inner=some, outer=replace(some, rows=7), low=-1, high=4))
    made.append(Excess(inner=Units(), outer=Units(), low=-1, high=1))
    made += chosen.sample([joint, Beyond(rows=chosen.randint(1, 4))], 2)
    made.append(
        Beyond(
            rows=chosen.randint(2, 6),
            totals=tuple(beyond),
            most=tuple(chosen.choice([5, 60]) for _ in beyond),
        )
    )
    return list(dict.fromkeys(made))


def _cases(chosen: random.Random) -> list[tuple[str, Measurement, bool]]:
    cases = []
    for words, rows in {**_SAME, **_APART}.items():
        which = chosen.choice([*_KEYS, *list(_KEYS)[1:]])
        groups = chosen.choice([1, 2, 2, 8])
        measures = _measures(chosen, grouped=which != "none")
        asked = measured(rows, *measures, keys=_KEYS[which], groups=groups)
        asked = replace(asked, outer_groups=groups + chosen.choice([0, 1, 90]))
        cases.append((f"{words}, {which}, {groups}", asked, words in _SAME))
    return cases


def _figures(exact: Exact) -> Any:
    groups = range(len(exact.units)) if exact.groups is None else list(exact.groups)
    numbers: dict[Any, Any] = {}
    for measure, held in exact.values.items():
        columns = held if isinstance(measure, JointTotals) else [held]
        for at, values in enumerate(columns):
            by_cell = dict(zip(groups, values, strict=True)) if measure.by_cell else values
            numbers[measure, at] = by_cell
    return dict(zip(groups, exact.units, strict=True)), numbers


def _wrongs(connection: Any, dialect: Dialect, seeds: range) -> list[str]:
    wrong, cut = [], [0, 0, 0]
    for seed in seeds:
        chosen = random.Random(seed)
        name = chosen.choice(_NAMES)
        _fill(connection, name, chosen, units=chosen.randint(1, 7), rows=chosen.choice([0, 40, 70]))
        place = _Place(connection, dialect, name)
        apart = replace(place, dialect=replace(dialect, common_table=None))
        for words, asked, paired in _cases(chosen):
            made = place.prepared(asked)
            if made.statements[0].whole is not paired:
                wrong.append(f"{seed}, {words}: paired? {not paired}")
            found = _figures(made.exact())
            if found != _figures(apart.exact(asked)):
                wrong.append(f"{seed}, {words}")
            for at, kind in enumerate((Excess, Dropped, Beyond)):
                held = [x for (m, _), x in found[1].items() if paired and isinstance(m, kind)]
                cut[at] += any(any(x.values() if isinstance(x, dict) else x) for x in held)
    assert all(cut)
    return wrong


def test_duckdb_has_the_same_numbers() -> None:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        assert not _wrongs(connection, DUCKDB, range(5))


@pytest.mark.slow
def test_duckdb_has_the_same_numbers_of_many_tables() -> None:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        assert not _wrongs(connection, DUCKDB, range(100, 400))


def test_postgres_has_the_same_numbers(postgres_address: str) -> None:
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        assert not _wrongs(connection, POSTGRES, range(3))
        for name in (*_NAMES, "names"):
            connection.execute(f"DROP TABLE IF EXISTS {name}")


def test_a_unit_of_one_row_is_not_added_up() -> None:
    chosen = random.Random(5)
    with duckdb.connect() as connection:
        _fill(connection, "t", chosen, units=1, rows=0)
        rows = ", ".join(f"({at}, {at % 5}, {at % 12}, {at * 3}, 'a')" for at in range(40))
        connection.execute(f"INSERT INTO t VALUES {rows}")
        place = _Place(connection, DUCKDB, "t")
        one = replace(place, unique=frozenset({"u"}))
        for _ in range(4):
            for words, asked, paired in _cases(chosen):
                if paired and "public" not in words:
                    made = one.prepared(asked)
                    assert made.statements[0].whole
                    assert "GROUP BY u" not in made.statements[0].sql
                    assert _figures(made.exact()) == _figures(place.exact(asked)), words


def test_a_name_cannot_be_taken_for_a_column_of_outer_bounds() -> None:
    marked = q.Projected(_ROWS, (("x", column("x")), ("x\0", column("y"))))
    total = Total(operand=column("x"), low=0, high=9, step=1.0, rows=2)
    excess = Excess(inner=total, outer=replace(total, high=80, rows=9), low=0, high=50)
    with duckdb.connect() as connection:
        _fill(connection, "t", random.Random(1), units=4, rows=30)
        place = _Place(connection, DUCKDB, "t")
        made = place.prepared(measured(marked, total, excess))
        assert not made.statements[0].whole
        found = place.exact(measured(_ROWS, total, excess))
        assert _figures(made.exact()) == _figures(found)
