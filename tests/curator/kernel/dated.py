"""Dated rows at the kernel's door: what a charge to some blocks of time can see of a person.

The figures of every attack are compared with a count in Python of the rows that may be read, and
between tables with and without the rows of a person that may not.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table, TableBlocks
from quaestor.curator.kernel.cut_measures import Beyond, Excess
from quaestor.curator.kernel.dated_rows import ChargedBlocks
from quaestor.curator.kernel.figures import prepare
from quaestor.curator.kernel.measures import Distinct, RowCount
from quaestor.curator.language import expressions as e
from quaestor.curator.language import query as q
from quaestor.errors import InvalidParameter
from tests.curator.kernel.judging import outcome
from tests.curator.kernel.pointed import column, measured, total
from tests.curator.kernel.tables import Side

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.curator.kernel.measurement import Measurement

__all__ = ["STORED", "duckdb_dated", "postgres_dated", "spark_dated", "wrongs"]

STORED = ("days", "texts", "moments", "zoned")
"""The same rows four times: the date as a date, a text, a time, and a time with a zone."""
_TYPES = {"days": "DATE", "texts": "VARCHAR", "moments": "TIMESTAMP", "zoned": "TIMESTAMPTZ"}
_PERSON = 99
_BASE = (
    (1, "2024-01-01 00:00:00", 1),
    (1, "2024-02-29 00:00:00", 2),
    (2, "2024-01-31 23:59:59", 3),
    (2, "2023-12-31 23:59:59", 4),
    (3, "2024-02-01 00:00:00", 5),
    (3, "2024-03-31 12:00:00", 20),
    (4, None, 6),
    (4, "2024-01-15 08:00:00", 7),
)
_ELSEWHERE = tuple(
    (_PERSON, when, 30)
    for when in (
        "2023-12-31 23:59:59", "2024-02-01 00:00:00", "2024-12-31 00:00:00", "0001-01-01 00:00:00",
        "9999-12-31 00:00:00", "infinity", "-infinity", None,
    )
)  # fmt: skip
_INSIDE = tuple((_PERSON, f"2024-01-{day:02} 10:00:00", day) for day in range(2, 9))
_MANY = tuple(
    (_PERSON, f"2024-{month:02}-10 00:00:00", 100 if month == 3 else 1) for month in range(1, 6)
)
SIDES: dict[str, tuple[tuple[int, str | None, int], ...]] = {
    "base": _BASE,
    "elsewhere": (*_BASE, *_ELSEWHERE),
    "inside": (*_BASE, *_INSIDE),
    "everywhere": (*_BASE, *_INSIDE, *_ELSEWHERE),
    "many": (*_BASE, *_MANY),
}
JANUARY, FEBRUARY, MARCH = "2024-01", "2024-02", "2024-03"


def _tables(source: Source, side: str, field: str, pattern: str) -> dict[str, Table]:
    who = ColumnFacts(name="who", kind="integer")
    amount = ColumnFacts(name="amount", kind="integer", low=0, high=100, granularity=1.0)
    few = q.Contribution(rows=3, groups=1)
    dated = [
        Table(
            name=name,
            source=source,
            unit="who",
            dataset="d",
            contribution=few,
            columns=(who, ColumnFacts(name="seen", kind="date"), amount),
            blocks=TableBlocks(date="seen", every="month"),
        )
        for name in STORED
    ]
    people = Table(
        name="people",
        source=source,
        unit="who",
        dataset="d",
        contribution=few,
        columns=(who, replace(amount, name="age")),
    )
    return {
        table.name: replace(
            table,
            source=replace(source, **{field: pattern.format(side, table.name)}),  # type: ignore[arg-type]
        )
        for table in (*dated, people)
    }


def _people(side: str) -> list[tuple[int, int]]:
    return [(who, 10 + who % 50) for who in sorted({row[0] for row in SIDES[side]})]


def _statements(text: str) -> Iterator[str]:
    for side, rows in SIDES.items():
        yield f"CREATE SCHEMA {side}"
        for name in STORED:
            kind = text if name == "texts" else _TYPES[name]
            yield f"CREATE TABLE {side}.{name} (who BIGINT, seen {kind}, amount BIGINT)"
            listed = (f"({who}, {_literal(when, name, kind)}, {n})" for who, when, n in rows)
            yield f"INSERT INTO {side}.{name} VALUES {', '.join(listed)}"
        yield f"CREATE TABLE {side}.people (who BIGINT, age BIGINT)"
        listed = (f"({who}, {age})" for who, age in _people(side))
        yield f"INSERT INTO {side}.people VALUES {', '.join(listed)}"


def _literal(when: str | None, name: str, kind: str) -> str:
    if when is None:
        return "NULL"
    if name == "texts":
        return f"'{when.split()[0]}'"
    if name == "zoned" and when[0].isdigit() and not when.startswith(("0001", "9999")):
        moved = dt.datetime.fromisoformat(when) + dt.timedelta(hours=5)  # told by another clock
        return f"CAST('{moved.isoformat(sep=' ')}+05' AS {kind})"
    return f"CAST('{when}' AS {kind})"


def duckdb_dated(folder: Path) -> dict[str, Side]:
    """All sides in one DuckDB file."""
    import duckdb

    from quaestor.curator.engines.duckdb.connection import DuckConnection

    with duckdb.connect(str(folder / "dated.duckdb")) as connection:
        for statement in _statements("VARCHAR"):
            connection.execute(statement)
    opened = DuckConnection(Catalog(tables=(), ledger="", folder=str(folder)))
    source = Source(engine="duckdb", connection="dated.duckdb")
    return {side: Side(opened, _tables(source, side, "table", "{0}.{1}")) for side in SIDES}


def postgres_dated(address: str, variable: str) -> dict[str, Side]:
    """All sides in schemas of one database."""
    import psycopg

    from quaestor.curator.engines.postgres.connection import PostgresConnection

    with psycopg.connect(address, autocommit=True) as connection:
        for statement in _statements("text"):
            connection.execute(statement.encode())
    source = Source(engine="postgres", connection=variable)
    sides = {side: _tables(source, side, "table", "{0}.{1}") for side in SIDES}
    opened = PostgresConnection(sides["base"]["people"])
    return {side: Side(opened, tables) for side, tables in sides.items()}


def spark_dated(folder: Path, master: str) -> dict[str, Side]:
    """All sides as Parquet files; no file has a day that is at infinity."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from quaestor.curator.engines.spark.connection import SparkConnection

    kinds = {
        "days": pa.date32(),
        "texts": pa.string(),
        "moments": pa.timestamp("us"),
        "zoned": pa.timestamp("us", tz="UTC"),
    }
    for side, listed in SIDES.items():
        (folder / side).mkdir()
        rows = [row for row in listed if not str(row[1]).endswith("infinity")]
        for name, kind in kinds.items():
            seen = pa.array([_value(when, name) for _, when, _ in rows], kind)
            units = pa.array([row[0] for row in rows], pa.int64())
            amounts = pa.array([row[2] for row in rows], pa.int64())
            made = pa.table({"who": units, "seen": seen, "amount": amounts})
            pq.write_table(made, folder / side / f"{name}.parquet")
        who, age = zip(*_people(side), strict=True)
        made = pa.table({"who": pa.array(who, pa.int64()), "age": pa.array(age, pa.int64())})
        pq.write_table(made, folder / side / "people.parquet")
    source = Source(engine="spark", connection=master)
    sides = {side: _tables(source, side, "files", "{0}/{1}.parquet") for side in SIDES}
    catalog = Catalog(tables=(), ledger="", folder=str(folder))
    opened = SparkConnection(catalog, sides["base"]["people"])
    return {side: Side(opened, tables) for side, tables in sides.items()}


def _value(when: str | None, name: str) -> Any:
    if when is None:
        return None
    moment = dt.datetime.fromisoformat(when)
    if name == "texts":
        return when.split()[0]
    if name == "zoned":
        return moment.replace(tzinfo=dt.UTC)
    return moment.date() if name == "days" else moment


def charged(*labels: str, kept: int | None = None) -> ChargedBlocks:
    """Months that are charged."""
    return ChargedBlocks(every="month", labels=labels, first="2024-01", kept=kept)


_AMOUNT, _SEEN, _WHO = column("amount"), column("seen"), column("who")


def _day(value: str) -> e.Constant:
    return e.Constant(value, "date")


def _relations(name: str) -> Iterator[tuple[str, q.Relation]]:
    scan = q.Scan(name)
    yield "all rows", scan
    elsewhere = e.Comparison(">=", _SEEN, _day("2024-02-01"))
    yield "another month", q.Filtered(scan, elsewhere)
    either = e.Logic(
        "or", (elsewhere, e.Comparison("<", _SEEN, _day("2024-01-20")), e.IsNull(_SEEN))
    )
    yield "one or the other", q.Filtered(scan, either)
    moved = q.Projected(
        scan, (("amount", _AMOUNT), ("seen", _day("2024-01-10")), ("kind", e.Cast(_SEEN, "text")))
    )
    yield "a date that is another", q.Filtered(moved, e.Comparison("=", _SEEN, _day("2024-01-10")))
    yield (
        "no date mentioned",
        q.Filtered(scan, e.Comparison(">", _AMOUNT, e.Constant(4, "integer"))),
    )
    yield "a union with itself", q.Union((scan, q.Filtered(scan, elsewhere)))
    other = q.Projected(q.Scan("people"), (("age", column("age")), ("whom", _WHO)))
    yield "a join", q.Join(scan, other, ((_WHO, column("whom")),), "inner")
    mine = q.Projected(scan, (("amount", _AMOUNT), ("whom", _WHO)))
    yield "joined to dated rows", q.Join(q.Scan("people"), mine, ((_WHO, column("whom")),), "inner")


def _question(rows: q.Relation, blocks: ChargedBlocks | None) -> Measurement:
    """All kinds of figures."""
    made = measured(
        rows,
        RowCount(rows=50),
        total("amount", 0, 100, rows=50),
        Distinct(operand=_AMOUNT, rows=50),
        Excess(inner=RowCount(rows=1), outer=RowCount(rows=50), low=0, high=50),
        Excess(
            inner=total("amount", 0, 3), outer=total("amount", 0, 900, rows=50), low=0, high=5000
        ),
        Beyond(rows=1, totals=(total("amount", 0, 20),), most=(25,)),
    )
    return replace(made, blocks=blocks)


def _figures(rows: q.Relation, side: Side, blocks: ChargedBlocks | None) -> Any:
    found = outcome(_question(rows, blocks), side)
    if found.exact is None:
        return found.refusal or found.failure
    return found.exact.units, found.exact.values


def _different(sides: dict[str, Side], stored: tuple[str, ...], *, few: bool) -> Iterator[str]:
    """Rows of other blocks change nothing at all."""
    for name in stored:
        for words, rows in islice(_relations(name), 0, None, 3 if few else 1):
            chosen = [side for side in SIDES if side != "many"]
            if few and words != "all rows":
                chosen = ["inside", "everywhere"]
            seen = {side: _figures(rows, sides[side], charged(JANUARY)) for side in chosen}
            for one, other in (("base", "elsewhere"), ("inside", "everywhere")):
                if one not in seen:
                    continue
                if seen[one] != seen[other] or not isinstance(seen[one][1], dict):
                    yield f"{name}, {words}: {one} and {other} differ: {seen}"
            if words == "all rows" and seen["base"] == seen["inside"]:
                yield f"{name}: a person in January is not seen"


def _months(side: str, kept: int | None, *, spark: bool) -> list[tuple[int, str, int]]:
    """The rows with their months that may ever be read, by a count in Python."""
    rows = [
        (who, when[:7], n)
        for who, when, n in SIDES[side]
        if when is not None and not when.endswith("infinity") and when[:4] != "0001"
    ]
    if not spark:  # what is at infinity is moved to the last day there is
        rows += [(w, "9999-12", n) for w, when, n in SIDES[side] if when == "infinity"]
    rows = [row for row in rows if row[1] >= JANUARY]
    if kept is None:
        return rows
    months: dict[int, set[str]] = {}
    for who, month, _ in rows:
        months.setdefault(who, set()).add(month)
    early = {who: sorted(listed)[:kept] for who, listed in months.items()}
    return [row for row in rows if row[1] in early[row[0]]]


def _miscounted(
    sides: dict[str, Side], stored: tuple[str, ...], *, spark: bool, few: bool
) -> Iterator[str]:
    """Units, rows and totals are those of a count in Python."""
    months = ((JANUARY,), (FEBRUARY,), (JANUARY, MARCH), ("2024-12",), (MARCH,))
    cases = list(product(stored, SIDES, months, (None, 1, 2)))
    if few:  # each side, each month and each number of blocks that are kept
        cases = [
            (name, *case)
            for name in stored
            for case in zip(SIDES, months, (None, 1, 2, 2, None), strict=True)
        ]
    for name, side, labels, kept in cases:
        rows = [r for r in _months(side, kept, spark=spark) if r[1] in labels]
        units, values = _figures(q.Scan(name), sides[side], charged(*labels, kept=kept))
        counts = [listed[0] for listed in values.values()]
        expected = [len(rows), sum(r[2] for r in rows)]
        if (units, counts[:2]) != ([len({r[0] for r in rows})], expected):
            yield f"{name}, {side}, {labels}, {kept}: {units}, {counts}, not {expected}"


def _ranked(sides: dict[str, Side], stored: tuple[str, ...]) -> Iterator[str]:
    """A person in five months is in the first two only, whatever the analyst leaves out."""
    large = e.Comparison(">", _AMOUNT, e.Constant(50, "integer"))
    late = e.Comparison(">=", _SEEN, _day("2024-03-01"))
    for name in stored:
        for condition in (large, late):
            rows = q.Filtered(q.Scan(name), condition)
            seen = [
                _figures(rows, sides[side], charged(MARCH, "2024-04", kept=2))
                for side in ("base", "many")
            ]
            if seen[0] != seen[1]:
                yield f"{name}: a third month is read: {seen}"


def _accepted(sides: dict[str, Side]) -> Iterator[str]:
    """What is in no block, or ranked twice, is refused."""
    scan, people = q.Scan("days"), q.Scan("people")
    mine = q.Projected(scan, (("seen", _SEEN), ("amount", _AMOUNT), ("whom", _WHO)))
    plain = q.Projected(scan, (("amount", _AMOUNT),))
    ages = q.Projected(people, (("amount", column("age")),))
    on = ((_WHO, column("whom")),)
    other = q.Projected(q.Scan("texts"), (("more", _AMOUNT), ("whom", _WHO)))
    attacks: dict[str, tuple[q.Relation, ChargedBlocks]] = {
        "a table without dates": (ages, charged(JANUARY)),
        "a left join": (q.Join(people, mine, on, "left"), charged(JANUARY)),
        "a union": (q.Union((plain, ages)), charged(JANUARY)),
        "a union, the other way": (q.Union((ages, plain)), charged(JANUARY)),
        "two ranks": (q.Join(scan, other, on, "inner"), charged(JANUARY, kept=2)),
        "another length": (scan, ChargedBlocks(every="year", labels=("2024",), first="2024")),
        "another column": (scan, replace(charged(JANUARY), dates=(("days", "paid"),))),
        "another table": (scan, replace(charged(JANUARY), dates=(("texts", "seen"),))),
    }
    for words, (rows, blocks) in attacks.items():
        found = outcome(_question(rows, blocks), sides["base"])
        if found.refusal is None:
            yield f"{words} is not refused: {found}"


def _unpaid(side: Side) -> Iterator[str]:
    """Noise is drawn for the blocks that were charged, and for no others."""
    january = charged(JANUARY, kept=2)
    plain = measured(q.Scan("days"), total("amount", 0, 100))
    wanted = frozenset({"amount"})
    others = (
        None,
        charged(FEBRUARY, kept=2),
        charged(JANUARY, FEBRUARY, kept=2),
        charged(JANUARY),
        charged(JANUARY, kept=3),
        replace(january, first="2023-01"),
    )
    cases: list[tuple[ChargedBlocks | None, tuple[ChargedBlocks | None, ...]]] = [
        (None, (january,)),
        (january, others),
    ]
    for blocks, unpaid in cases:
        asked = replace(plain, blocks=blocks)
        prepared = prepare(asked, table=side.table, wanted=wanted, database=side)
        exact = prepared.exact()
        prepared.draw(exact, paid=asked.releases, dataset="d", blocks=blocks)
        for paid in unpaid:
            try:
                prepared.draw(exact, paid=asked.releases, dataset="d", blocks=paid)
            except InvalidParameter:
                continue
            yield f"noise is drawn for {blocks}, and {paid} was charged"


def wrongs(
    sides: dict[str, Side],
    *,
    stored: tuple[str, ...] = STORED,
    spark: bool = False,
    few: bool = False,
) -> list[str]:
    """Everything that is wrong; in a few cases, if a statement takes long."""
    return [
        *_different(sides, stored, few=few),
        *_miscounted(sides, stored, spark=spark, few=few),
        *_ranked(sides, stored),
        *_accepted(sides),
        *_unpaid(sides["base"]),
    ]
