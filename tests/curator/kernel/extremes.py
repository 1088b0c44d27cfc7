"""Every function, operator, cast and comparison, on every extreme value: one row a value."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.kernel.measures import Total
from quaestor.curator.language import expressions as e
from quaestor.curator.language import query as q
from quaestor.curator.language.query import Contribution
from quaestor.curator.scalars.functions import FUNCTIONS
from tests.curator.kernel.attack import _OPERATORS, _PATTERNS
from tests.curator.kernel.pointed import measured, private
from tests.curator.kernel.tables import BOOLEANS, DATES, INTEGERS, REALS, TEXTS, Side

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.curator.kernel.measurement import Measurement

__all__ = ["duckdb_side", "measurements", "postgres_side", "spark_side"]

_KINDS: dict[str, e.Kind] = {
    "id": "integer", "a": "real", "b": "real", "i": "integer", "j": "integer", "s": "text",
    "t": "text", "d": "date", "e": "date", "f": "boolean", "h": "boolean",
}  # fmt: skip
_TABLE = Table(
    name="extremes",
    source=Source(engine="duckdb"),
    unit="id",
    dataset="d",
    contribution=Contribution(rows=1, groups=1),
    columns=tuple(ColumnFacts(name=name, kind=kind) for name, kind in _KINDS.items()),
)
_C = {name: e.Column(name) for name in _KINDS}


def _rows() -> list[list[Any]]:
    """All pairs of values of each kind, next to each other."""
    pairs = [
        list(product(values, values))
        for values in (REALS, INTEGERS, (*TEXTS, "12", "-7.5e3"), DATES, BOOLEANS)
    ]
    # Texts have the most pairs: of them every seventh is enough, and every text is in one.
    pairs[2] = pairs[2][::7]
    rows = []
    for at in range(max(map(len, pairs))):
        a, i, s, d, f = (of[at % len(of)] for of in pairs)
        rows.append([at, *a, *i, *s, *d, *f])
    return rows


# Expressions


def _relation() -> q.Relation:
    """The values, and beside them numbers from texts, and the smallest products of numbers."""
    read = e.Cast(_C["s"], "real")
    squares = (e.Arithmetic("*", _C[name], _C[name]) for name in "ab")
    tiny = e.Arithmetic("*", *squares)
    return q.Projected(q.Scan("extremes"), (*_C.items(), ("read", read), ("tiny", tiny)))


def _numbers() -> Iterator[e.Expression]:
    """Numbers of every size, and what can be made of one or two of them."""
    read, tiny = e.Column("read"), e.Column("tiny")
    one = [_C["a"], _C["i"], read, tiny]
    for name in ("abs", "sign", "floor", "ceil", "round", "sqrt", "ln", "log10", "exp"):
        yield from (e.Call(name, (x,)) for x in one)
    for digits, x in product((-15, -2, 0, 3, 15), one):
        yield e.Call("round", (x, e.Constant(digits, "integer")))
    two = [(_C["a"], _C["b"]), (_C["i"], _C["j"]), (read, _C["b"]), (_C["a"], tiny), (tiny, tiny)]
    for operator, (x, y) in product(("+", "-", "*", "/", "%"), two):
        yield e.Arithmetic(operator, x, y)  # type: ignore[arg-type]
    for name, (x, y) in product(("least", "greatest", "coalesce", "nullif"), two):
        yield e.Call(name, (x, y))
    for x, y in two:
        yield e.Call("clamp", (x, e.Constant(-5.0, "real"), e.Constant(1e9, "real")))
        yield e.Call("clamp", (_C["a"], x, y))
    for kind, x in product(("integer", "real"), (_C["a"], _C["i"], _C["s"], _C["f"], tiny)):
        yield e.Cast(x, kind)  # type: ignore[arg-type]
    yield e.Call("length", (_C["s"],))
    yield e.Call("days_between", (_C["d"], _C["e"]))
    for name in ("year", "quarter", "month", "day", "dow", "week", "doy"):
        yield e.Call(name, (_C["d"],))
        yield e.Call(name, (e.Cast(_C["s"], "date"),))
    for name, time in product(("hour", "minute", "second"), _times()):
        yield e.Call(name, (time,))


def _times() -> Iterator[e.Expression]:
    """Times of dates and of texts, and of the ends of the calendar."""
    last = e.Constant("9999-12-31 23:59:59.999999", "timestamp")
    yield from (e.Call("time_of", (_C[name],)) for name in "de")
    yield e.Cast(_C["s"], "timestamp")
    yield e.Call("greatest", (e.Call("time_of", (_C["d"],)), last))
    yield e.Case(((_C["f"], last),), e.Constant("1969-12-31 23:59:59.5", "timestamp"))


def _truths() -> Iterator[e.Expression]:
    pairs = [(_C[x], _C[y]) for x, y in ("ab", "ij", "st", "de", "fh", "ai")]
    for operator, (x, y) in product(_OPERATORS, pairs):
        yield e.Comparison(operator, x, y)  # type: ignore[arg-type]
    for unit, time in product(("hour", "minute"), _times()):
        yield e.Comparison("=", e.Call(f"first_of_{unit}", (time,)), time)
    yield from (e.Like(_C["s"], pattern) for pattern in _PATTERNS)
    yield from (e.Cast(_C[name], "boolean") for name in "ais")
    yield from (e.IsNull(_C[name]) for name in "aisdf")
    yield e.Logic("and", (_C["f"], _C["h"]))
    yield e.Logic("or", (_C["f"], e.Not(_C["h"])))
    yield e.Member(_C["s"], tuple(e.Constant(t, "text") for t in TEXTS))
    yield e.Member(_C["i"], tuple(e.Constant(n, "integer") for n in INTEGERS))
    yield e.Member(_C["a"], (e.Constant(0.0, "real"), e.Constant(1, "integer")))
    yield e.Member(_C["d"], (e.Constant("2024-02-29", "date"), e.Constant(None, "date")))


def _texts() -> Iterator[e.Expression]:
    yield from (e.Call(name, (_C["s"],)) for name in ("upper", "lower", "trim", "ltrim", "rtrim"))
    yield e.Call("concat", (_C["s"], _C["t"]))
    blanks = e.Call("concat", (e.Constant("  ", "text"), _C["s"]))
    yield from (e.Call(name, (blanks,)) for name in ("trim", "ltrim", "rtrim"))
    long: e.Expression = _C["s"]
    for _ in range(8):
        long = e.Call("concat", (long, long))
    yield long
    for first, count in product((-3, 0, 1, 2, 10**12), (-1, 0, 1, 5, 2**40)):
        given = (e.Constant(first, "integer"), e.Constant(count, "integer"))
        yield e.Call("substring", (_C["s"], *given))
    yield e.Call("substring", (_C["s"], e.Constant(2, "integer")))
    yield from (e.Call(name, (_C["s"], _C["t"])) for name in ("coalesce", "nullif"))
    yield e.Case(((_C["f"], _C["s"]),), _C["t"])
    yield from (e.Cast(_C[name], "text") for name in "idf")
    for day in (
        *(e.Call(f"first_of_{unit}", (_C["d"],)) for unit in ("week", "month", "quarter", "year")),
        *(
            e.Call(name, (_C["d"], count))
            for name in ("add_days", "add_months")
            for count in (
                _C["i"],
                *(e.Constant(n, "integer") for n in (-(10**9), -13, -1, 0, 1, 11, 45, 10**9)),
            )
        ),
        *(e.Call(name, (_C["d"], _C["e"])) for name in ("least", "greatest", "coalesce", "nullif")),
        e.Cast(_C["s"], "date"),
        *(e.Call("date_of", (time,)) for time in _times()),
        e.Case(((_C["f"], _C["d"]),), _C["e"]),
    ):
        yield e.Cast(day, "text")


def functions_in(expression: e.Expression) -> Iterator[str]:
    """The functions that an expression calls, operators not counted."""
    from quaestor.curator.language.expressions import nodes

    yield from (node.function for node in nodes(expression) if isinstance(node, e.Call))


def _steps(x: e.Expression, step: float) -> Total:
    """A number in steps; what has no value is 77."""
    seen = e.Call("coalesce", (x, e.Constant(77.0, "real")))
    return Total(operand=seen, low=-(2**26), high=2**26, step=step, rows=1)


def _as_number(x: e.Expression) -> e.Expression:
    one, two, three = (e.Constant(n, "integer") for n in (1, 2, 3))
    return e.Case(((x, one), (e.Not(x), two)), three)


def measurements(size: int = 30) -> Iterator[Measurement]:
    """All of them by row, so many in a statement."""
    rows, key = _relation(), private("id", "integer")
    called = {name for x in (*_numbers(), *_truths(), *_texts()) for name in functions_in(x)}
    assert called == set(FUNCTIONS), set(FUNCTIONS) ^ called
    totals = [_steps(x, 2.0**-10) for x in _numbers()]
    totals += [_steps(_as_number(x), 1.0) for x in _truths()]
    totals += [_steps(x, step) for x in list(_numbers())[::5] for step in (1e-100, 1e100, 1e12)]
    for at in range(0, len(totals), size):
        yield measured(rows, *totals[at : at + size], keys=(key,))
    texts = list(_texts())
    for at in range(0, len(texts), size // 3):
        keys = (replace(key, expression=x, kind="text") for x in texts[at : at + size // 3])
        yield measured(rows, keys=(key, *keys))


# Engines


def _parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {
        "integer": pa.int64(), "real": pa.float64(), "text": pa.string(), "date": pa.date32(),
        "boolean": pa.bool_(),
    }  # fmt: skip
    schema = pa.schema([(name, types[kind]) for name, kind in _KINDS.items()])
    columns = [list(column) for column in zip(*_rows(), strict=True)]
    arrays = [pa.array(x, f.type) for x, f in zip(columns, schema, strict=True)]
    pq.write_table(pa.table(arrays, schema=schema), path)


def _side(connection: Any, source: Source) -> Side:
    return Side(connection, {"extremes": replace(_TABLE, source=source)})


def duckdb_side(folder: Path) -> Side:
    """The values in a file, read by DuckDB."""
    from quaestor.curator.engines.duckdb.connection import DuckConnection

    _parquet(folder / "extremes.parquet")
    catalog = Catalog(tables=(), ledger="", folder=str(folder))
    return _side(DuckConnection(catalog), Source(engine="duckdb", files="extremes.parquet"))


def spark_side(folder: Path, master: str) -> Side:
    """The values in a file, read by a Spark cluster."""
    from quaestor.curator.engines.spark.connection import SparkConnection

    _parquet(folder / "extremes.parquet")
    source = Source(engine="spark", connection=master, files="extremes.parquet")
    catalog = Catalog(tables=(), ledger="", folder=str(folder))
    return _side(SparkConnection(catalog, replace(_TABLE, source=source)), source)


def postgres_side(address: str, variable: str) -> Side:
    """The values on PostgreSQL."""
    import psycopg

    from quaestor.curator.engines.postgres.connection import PostgresConnection

    types = {
        "integer": "bigint", "real": "double precision", "text": "text", "date": "date",
        "boolean": "boolean",
    }  # fmt: skip
    declared = ", ".join(f"{name} {types[kind]}" for name, kind in _KINDS.items())
    with psycopg.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE extremes ({declared})".encode())
        with cursor.copy(b"COPY extremes FROM STDIN") as copy:
            for row in _rows():
                copy.write_row(row)
    source = Source(engine="postgres", connection=variable, table="extremes")
    return _side(PostgresConnection(replace(_TABLE, source=source)), source)
