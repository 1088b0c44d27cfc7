"""Every type that a table can be stored in, with the most extreme values that it can hold.

Of every type there are two tables: one of ordinary people, and the same with one more person whose
rows hold the extreme values. No question may tell them apart by failing, nor by more than what the
noise was priced for.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.language.query import Contribution
from quaestor.errors import EngineFailed, QuaestorError
from tests.curator.door import priced, seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from quaestor.curator.language.expressions import Kind
    from tests.curator.door import Drawn, Seen

__all__ = [
    "CSV_LINES",
    "CSV_VALUES",
    "DUCKDB",
    "KINDS",
    "PARQUET",
    "POSTGRES",
    "SPARK",
    "SPARK_ODD",
    "Pair",
    "Stored",
    "Variant",
    "apart",
    "arrow_table",
    "asked",
    "catalog",
    "csv_pairs",
    "differences",
    "duckdb_pairs",
    "merged",
    "parquet_pairs",
    "parquet_wide",
    "postgres_pairs",
    "spark_table",
    "spark_units",
    "trouble",
    "wide",
    "wide_questions",
]

HOSTILE = 1000
"""The person who is in one of the two tables only."""
_ORDINARY = 12
_ROWS, _GROUPS = 5, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A storage type, an ordinary value of it, and extreme ones."""

    name: str
    type: Any
    """As the engine writes it; of Parquet files what makes a column of the values."""
    ordinary: Any
    extremes: tuple[Any, ...]
    natural: tuple[Kind, ...] = ()
    """The kinds that a condensed test declares the column to be of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The same table twice: without the hostile person, and with it; and its values as units.

    ``units`` has the values of the type as the privacy unit, each in three rows, numbered from 0
    on in a column ``y``; ``values`` is how many of them there are.
    """

    name: str
    without: Source
    hostile: Source
    units: Source | None = None
    values: int = 0
    empty: bool = False
    """Whether the type has no value but NULL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """How a column is declared, and what is asked of it."""

    name: str
    kind: Kind
    questions: tuple[str, ...]
    low: float | None = None
    high: float | None = None
    granularity: float | None = None

    @property
    def facts(self) -> ColumnFacts:
        """The column ``x`` as it is declared."""
        return ColumnFacts(
            name="x", kind=self.kind, low=self.low, high=self.high, granularity=self.granularity
        )


def _counted(*tests: str, more: str = "", by: bool = False) -> str:
    """One statement of many counts; every test is evaluated in every row."""
    counts = []
    for place in range(0, len(tests), _AT_ONCE):
        added = " + ".join(f"CAST({test} AS INTEGER)" for test in tests[place : place + _AT_ONCE])
        counts.append(f"COUNT_IF({added} > 1) AS c{place}")
    key, end = ("x, ", " GROUP BY x") if by else ("", "")
    return f"SELECT {key}COUNT(*) AS n, COUNT(x) AS m, {', '.join(counts)}{more} FROM t{end}"


_AT_ONCE = 6
_NUMBER = ("(x = 5)", "(x > 5)", "(x <> 5)", "(x IS NULL)", "(x <= -1)", "(x IN (5, 6))")
_COMPUTED = (
    "(FLOOR({x}) = 5)", "(CEIL({x}) = 5)", "(ROUND({x}) > 5)", "(ABS({x}) > 5)", "(SQRT({x}) > 1)",
    "(LN({x}) > 1)", "(LOG10({x}) > 0.5)", "(EXP({x}) > 1)", "({x} + {x} > 1)", "({x} - {x} = 0)",
    "({x} * {x} > 1)", "({x} / {x} = 1)", "(1 / {x} > 0.1)", "SIGN({x})", "(POW({x}, 4) > 9)",
    "CAST({x} AS BOOLEAN)", "(CAST({x} AS DOUBLE) > 1)", "(CAST({x} AS INTEGER) > 1)",
)  # fmt: skip


def _of_numbers(x: str) -> tuple[str, ...]:
    return tuple(test.format(x=x) for test in _COMPUTED)


_WHOLE = ("(CAST(x AS TEXT) = '5')", "(x % 3 = 2)", "(100 % x = 0)")
_FIGURES = ", SUM({x}) AS s, AVG({x}) AS a, VARIANCE({x}) AS v, MEDIAN({x}) AS q"
_TEXT = (
    "(x = '5')", "(x > '5')", "(x <> '5')", "(x IS NULL)", "(x IN ('5', 'a', ''))",
    "(LENGTH(x) > 1)", "(UPPER(x) = 'A')", "(LOWER(x) = 'a')", "(SUBSTRING(x, 1, 1) = '5')",
    "(SUBSTRING(x, 2, 3) > 'a')", "(x LIKE '%5_')", "(x LIKE '_')", "(CAST(x AS INTEGER) = 5)",
    "(CAST(x AS DOUBLE) > 1)", "CAST(x AS BOOLEAN)", "(CAST(x AS DATE) > '2020-01-01')",
)  # fmt: skip
_DATE = (
    "(x = '2024-02-29')", "(x > '2024-02-28')", "(x IS NULL)", "(x IN ('2024-02-29'))",
    "(YEAR(x) = 2024)", "(QUARTER(x) = 1)", "(MONTH(x) = 2)", "(DAY(x) = 29)", "(DAYOFWEEK(x) = 4)",
    "(DATE_TRUNC('month', x) = '2024-02-01')", "(DATE_TRUNC('year', x) = '2024-01-01')",
    "(CAST(x AS TEXT) LIKE '2024%')",
)  # fmt: skip
_TRUTH = (
    "x", "(NOT x)", "(x IS NULL)", "(x = TRUE)", "(CAST(x AS TEXT) = 'true')",
    "(CAST(x AS DOUBLE) > 0.5)",
)  # fmt: skip
_CLAMPED = "CLAMP(x, -30, 30)"
KINDS: tuple[Variant, ...] = (
    Variant(
        name="integer",
        kind="integer",
        questions=(
            _counted(*_NUMBER, *_of_numbers(_CLAMPED), by=True),
            "SELECT x, COUNT(*) AS n FROM t WHERE x IN (5, 6, 7) GROUP BY x",
            "SELECT COUNT(DISTINCT x) AS d FROM t WHERE x > 1",
        ),
    ),
    Variant(
        name="integer with bounds",
        kind="integer",
        questions=(
            _counted(*_WHOLE, more=_FIGURES.format(x="x")),
            "SELECT x, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY x",
        ),
        low=-30.0,
        high=30.0,
        granularity=1.0,
    ),
    Variant(
        name="real",
        kind="real",
        questions=(_counted(*_NUMBER, more=_FIGURES.format(x=_CLAMPED)),),
    ),
    Variant(
        name="real with bounds",
        kind="real",
        questions=(
            _counted(*_of_numbers("x"), more=", SUM(x) AS s, MEDIAN(x) AS q"),
            "SELECT FLOOR(x) AS k, COUNT(*) AS n, AVG(x) AS a, VARIANCE(x) AS v FROM t GROUP BY 1",
        ),
        low=-30.0,
        high=30.0,
        granularity=0.25,
    ),
    Variant(
        name="text",
        kind="text",
        questions=(
            _counted(*_TEXT, by=True),
            "SELECT COUNT(DISTINCT x) AS d FROM t WHERE x > 'a'",
            "SELECT x, COUNT(*) AS n FROM t WHERE x IN ('5', 'a', '') GROUP BY x",
        ),
    ),
    Variant(
        name="date",
        kind="date",
        questions=(
            _counted(*_DATE, by=True),
            "SELECT COUNT(DISTINCT x) AS d FROM t WHERE x > '2000-01-01'",
            "SELECT x, COUNT(*) AS n FROM t WHERE x IN ('2024-02-29', '9999-12-31') GROUP BY x",
        ),
    ),
    Variant(
        name="timestamp",
        kind="timestamp",
        questions=(
            (
                "SELECT COUNT(x) AS n, SUM(HOUR(x)) AS h, COUNT_IF(MINUTE(x) = 59) AS m, "
                "COUNT_IF(DATE_TRUNC('hour', x) = x) AS t, COUNT(DISTINCT x) AS d FROM t"
            ),
            "SELECT x, COUNT(*) AS n FROM t WHERE x IN ('2024-02-29', '9999-12-31') GROUP BY x",
        ),
    ),
    Variant(
        name="boolean",
        kind="boolean",
        questions=(_counted(*_TRUTH, by=True), "SELECT COUNT(*) AS n FROM t WHERE x"),
    ),
)
"""The first question of each is about nearly everything."""

# What is asked, and what must be the same.


def catalog(source: Source, facts: Iterable[ColumnFacts], unit: Kind = "integer") -> Catalog:
    """A table ``t`` of people ``id`` with further columns."""
    columns = (ColumnFacts(name="id", kind=unit), *facts)
    table = Table(
        name="t",
        source=source,
        columns=columns,
        unit="id",
        contribution=Contribution(rows=_ROWS, groups=_GROUPS),
    )
    return Catalog(ledger="", tables=(table,))


_ANYWHERE = Source(engine="duckdb")
_priced = cache(priced)
"""The same statements are asked of a hundred tables, and what they mean depends on none of them."""


def asked(where: Catalog, sql: str, *, whole_error: bool = True) -> Seen | tuple[str, str]:
    """The exact figures, or what is said before anything is charged."""
    (table,) = where.tables
    anywhere = replace(where, tables=(replace(table, source=_ANYWHERE),))
    try:
        return seen(where, _priced(anywhere, sql, whole_error=whole_error))
    except QuaestorError as refusal:
        source, said = where.tables[0].source, str(refusal)
        for name in filter(None, (source.table, source.files)):
            said = said.replace(name, "it")
        return type(refusal).__name__, said


def trouble(pair: Pair, variant: Variant, *, whole: bool = True) -> list[str]:
    """What tells the two tables apart, and what fails; nothing, if all is well.

    Either all questions and what limits cut, or the first question alone.
    """
    found = []
    one, other = (catalog(source, (variant.facts,)) for source in (pair.without, pair.hostile))
    for sql in variant.questions if whole else variant.questions[:1]:
        before, after = (asked(each, sql, whole_error=whole) for each in (one, other))
        found += [f"{pair.name} as {variant.name}: {it}: {sql}" for it in apart(before, after)]
        if isinstance(before, tuple) and before == after:
            break  # the column cannot be of this kind, whatever is asked
    return found


def apart(before: Seen | tuple[str, str], after: Seen | tuple[str, str]) -> Iterator[str]:
    """How two outcomes differ that should not."""
    if isinstance(before, tuple) or isinstance(after, tuple):
        if before != after:
            yield f"{_short(before)} without, but {_short(after)} with"
        elif before == (EngineFailed.__name__, str(EngineFailed())):
            yield "the engine fails, though before anything is charged"
    elif before.failed or after.failed:
        yield f"{_short(before)} without, {_short(after)} with"
    else:
        for left, right in zip(before.drawn, after.drawn, strict=True):
            yield from differences(left, right)


def _short(outcome: Seen | tuple[str, str]) -> str:
    if isinstance(outcome, tuple):
        return ": ".join(outcome).splitlines()[0][:160]
    return "failed" if outcome.failed else "answered"


def differences(left: Drawn, right: Drawn) -> Iterator[str]:
    """Where one person changes more than the noise was priced for."""
    if (left.kind, left.bound, left.cells) != (right.kind, right.bound, right.cells):
        yield "priced differently"
    for one in (left, right):
        if len(set(one.labels)) < len(one.labels):
            yield f"{one.kind} has two cells of one name"
    cells = [dict(zip(one.labels, one.values, strict=True)) for one in (left, right)]
    changed = 0
    for label in {**cells[0], **cells[1]}:
        change = _change(cells[0].get(label), cells[1].get(label))
        changed += change > 0
        if change > left.bound:
            yield f"{left.kind} of {label!r:.40} changes by {change}, not {left.bound}"
    if changed > left.cells:
        yield f"{left.kind} changes in {changed} cells, not {left.cells}"


def _change(one: Any, other: Any) -> int:
    if isinstance(one, dict) or isinstance(other, dict):
        one, other = one or {}, other or {}
        return sum(abs(one.get(v, 0) - other.get(v, 0)) for v in {**one, **other})
    return int(abs((one or 0) - (other or 0)))


def merged(pair: Pair, kind: Kind) -> list[str]:
    """What is wrong with the values as units: two that count as one, or a failure.

    Every value has its own ``y``. The counts by ``y`` say which values are units at all; there
    must be as many units as that.
    """
    assert pair.units is not None
    facts = (ColumnFacts(name="y", kind="integer", low=0.0, high=1000.0, granularity=1.0),)
    counts = ", ".join(f"COUNT_IF(y = {place}) AS c{place}" for place in range(pair.values))
    sql = f"SELECT COUNT(DISTINCT id) AS u, {counts} FROM t"
    seen = asked(catalog(pair.units, facts, kind), sql)
    start = f"{pair.name} as a unit of kind {kind}: "
    if isinstance(seen, tuple):
        engine = seen == (EngineFailed.__name__, str(EngineFailed()))
        return [f"{start}the engine fails, though before anything is charged"] if engine else []
    if seen.failed:
        return [f"{start}failed"]
    (units,), *rows = (drawn.values for drawn in seen.drawn)
    there = [place for place, (count,) in enumerate(rows) if count]
    if units != len(there):
        return [f"{start}the {len(there)} values {there} are {units} units"]
    return [] if there or pair.empty else [f"{start}no value is a unit"]


def _people(stored: Stored, *, hostile: bool) -> list[tuple[int, Any]]:
    rows = [(person, stored.ordinary) for person in range(1, _ORDINARY)]
    rows.append((_ORDINARY, None))
    rows += [(HOSTILE, value) for value in stored.extremes] if hostile else []
    return rows


def _units(stored: Stored) -> list[tuple[Any, int | None]]:
    values = [stored.ordinary, *stored.extremes]
    rows = [(value, place) for place, value in enumerate(values) for _ in range(3)]
    return [*rows, (None, None), (None, None)]


# Parquet.


def _plain(type_of: Callable[[Any], Any]) -> Callable[[list[Any]], Any]:
    """A column of Python values."""

    def column(values: list[Any]) -> Any:
        import pyarrow as pa

        return pa.array(values, type_of(pa))

    return column


def _seen_as(
    type_of: Callable[[Any], Any], raw_of: Callable[[Any], Any]
) -> Callable[[list[Any]], Any]:
    """A column of values whose bits are those of another type: nothing checks them."""

    def column(values: list[Any]) -> Any:
        import pyarrow as pa

        return pa.array(values, raw_of(pa)).view(type_of(pa))

    return column


def _arrow(name: str, *arguments: Any) -> Callable[[Any], Any]:
    """A type of pyarrow, which is imported late."""
    return lambda pa: getattr(pa, name)(*arguments)


def _halves(values: list[Any]) -> Any:
    import numpy as np
    import pyarrow as pa

    return pa.array([None if v is None else np.float16(v) for v in values], pa.float16())


def _dictionary(values: list[Any]) -> Any:
    return _plain(lambda pa: pa.string())(values).dictionary_encode()


def _parquet() -> Iterator[Stored]:
    def stored(name: str, make: Any, ordinary: Any, *extremes: Any, natural: Any = ()) -> Stored:
        return Stored(
            name=name, type=make, ordinary=ordinary, extremes=extremes, natural=tuple(natural)
        )

    numbers = ("integer", "real")
    for bits in (8, 16, 32, 64):
        top = 2 ** (bits - 1)
        signed, unsigned = (_plain(_arrow(f"{sign}int{bits}")) for sign in ("", "u"))
        yield stored(f"int{bits}", signed, 5, -top, 1 - top, -1, 0, top - 1, natural=numbers)
        whole = (0, 1, top, 2 * top - 2, 2 * top - 1)
        yield stored(f"uint{bits}", unsigned, 5, *whole, natural=numbers)
    floats = (math.nan, math.inf, -math.inf, -0.0, 0.5)
    yield stored("float16", _halves, 5.0, *floats, 65504.0, 6e-8)
    yield stored(
        "float32", _plain(lambda pa: pa.float32()), 5.0, *floats, 3.4e38, -3.4e38, 1e-45,
        natural=numbers,
    )  # fmt: skip
    doubles = (*floats, 1.7e308, -1.7e308, 5e-324, 2.3e-308, 2.0**63, 2.0**53 + 2, 1e15)
    yield stored("float64", _plain(lambda pa: pa.float64()), 5.0, *doubles, natural=numbers)
    for width, digits in ((128, 38), (256, 76)):
        for scale in (0, digits // 2, digits):
            most = Decimal((0, (9,) * digits, -scale))
            least = Decimal((0, (1,), -scale))
            yield stored(
                f"decimal{width}({digits}, {scale})",
                _plain(_arrow(f"decimal{width}", digits, scale)),
                Decimal(5) if scale < digits else Decimal("0.5"),
                *(most, most.copy_negate(), least, least.copy_negate(), Decimal(0)),
                natural=numbers if width == 128 else (),
            )
    yield stored("bool", _plain(lambda pa: pa.bool_()), True, False, natural=("boolean",))  # noqa: FBT003
    yield from _parquet_times(stored)
    yield from _parquet_texts(stored)
    yield stored("list", _plain(lambda pa: pa.list_(pa.int64())), [5], [], [None], [2**63 - 1])
    yield stored(
        "struct", _plain(lambda pa: pa.struct([("a", pa.float64())])), {"a": 5.0}, {"a": math.nan}
    )
    yield stored(
        "map", _plain(lambda pa: pa.map_(pa.string(), pa.int64())), [("a", 5)], [], [("", 0)]
    )
    yield stored("null", _plain(lambda pa: pa.null()), None, None)


def _parquet_times(stored: Any) -> Iterator[Stored]:
    words = {32: 2**31, 64: 2**63}
    day = (dt.date(2024, 2, 29) - dt.date(1970, 1, 1)).days
    date32 = _seen_as(lambda pa: pa.date32(), lambda pa: pa.int32())
    far = (-719162, -719163, -719529, 2932896, 2932897, -2440588, 5373484)
    ends: tuple[int, ...] = (-words[32], 1 - words[32], words[32] - 2, words[32] - 1)
    yield stored("date32", date32, day, *far, *ends, natural=("date",))
    date64 = _seen_as(lambda pa: pa.date64(), lambda pa: pa.int64())
    yield stored("date64", date64, day * 86_400_000, *(86_400_000 * days for days in (*far, *ends)))
    for unit, second in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        for zone in (None, "UTC"):
            make = _seen_as(_arrow("timestamp", unit, zone), _arrow("int64"))
            top = 2**63 - 1 if unit in {"us", "ns"} else (2**63 - 1) // (1000 if unit == "s" else 1)
            ends = (-top, top - 1, top) if unit == "s" else (-top - 1, -top, top - 1, top)
            inside = [86_400 * second * days for days in far if abs(86_400 * second * days) <= top]
            yield stored(
                f"timestamp[{unit}, {zone}]", make, 86_400 * second * day, -1, *inside, *ends,
                natural=("date",) if unit in {"ms", "us"} else (),
            )  # fmt: skip
    time = _seen_as(lambda pa: pa.time64("us"), lambda pa: pa.int64())
    yield stored("time64", time, 5, 0, 86_399_999_999, 86_400_000_000, -1, 2**63 - 1)
    yield stored(
        "time32", _seen_as(lambda pa: pa.time32("ms"), lambda pa: pa.int32()), 5, -1, 2**31 - 1
    )
    yield stored(
        "duration", _seen_as(lambda pa: pa.duration("us"), lambda pa: pa.int64()), 5, -(2**63), -1
    )


_TEXTS = (
    "", " ", "5 ", " 5", "a", "A", "a ", "\u00e9", "e\u0301", "ß", "SS", "İ", "ı", "😀",
    "a\0b", "\0", "\n", "\r\n", "\t", "\ufeff", "\uffff", "\U0010ffff", "x" * 100_000,
    "é" * 50_000, "'", '"', "\\", "%", "_", "#", "5#", "5\n", "5\0", "1e400", "-1e400",
    "1e-400", "1e99", "9" * 400, "0x10", "1_000", "١٢٣", "５", "NaN", "nan", "Infinity",
    "-inf", "true", "t", "yes", "1", "TRUE ", "0000-00-00", "0000-01-01", "9999-12-31",
    "10000-01-01", "2024-02-30", "2024-02-29 ", "+2024-02-29", "2024-02-29T00:00:00",
    "infinity", "epoch", "today", "-5", "--5", "5.", ".5", ".", "+", "5e",
)  # fmt: skip
_NOT_UTF8 = (
    b"\xff",
    b"\xc3",
    b"\xc3(",
    b"5\x80",
    b"\xed\xa0\x80",
    b"\xf5\x80\x80\x80",
    b"\xc0\x80",
)


def _parquet_texts(stored: Any) -> Iterator[Stored]:
    every = ("text", "integer", "real", "date", "boolean")
    yield stored("string", _plain(lambda pa: pa.string()), "5", *_TEXTS, natural=every)
    yield stored("dictionary", _dictionary, "5", *_TEXTS)
    invalid = _seen_as(lambda pa: pa.string(), lambda pa: pa.binary())
    yield stored("string that is not UTF-8", invalid, b"5", *_NOT_UTF8, natural=every)
    yield stored("binary", _plain(lambda pa: pa.binary()), b"5", b"", b"\0", *_NOT_UTF8)
    fixed = _plain(lambda pa: pa.binary(2))
    yield stored("fixed binary", fixed, b"05", b"\0\0", b"\xff\xff", b"\xc3(")


PARQUET: tuple[Stored, ...] = tuple(_parquet())


def arrow_table(columns: dict[str, Any]) -> Any:
    """Columns as a table, whatever they hold."""
    import pyarrow as pa

    return pa.table(columns)


def parquet_pairs(folder: Path, source: Source) -> list[Pair]:
    """The Parquet files of every type."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = []
    for number, stored in enumerate(PARQUET):
        sources = []
        for name, rows in (
            ("without", _people(stored, hostile=False)),
            ("with", _people(stored, hostile=True)),
            ("units", _units(stored)),
        ):
            one, other = ([row[place] for row in rows] for place in (0, 1))
            if name == "units":
                table = arrow_table({"id": stored.type(one), "y": pa.array(other, pa.int64())})
            else:
                table = arrow_table({"id": pa.array(one, pa.int64()), "x": stored.type(other)})
            (folder / name).mkdir(exist_ok=True)
            path = folder / name / f"{number}.parquet"
            pq.write_table(table, path, store_schema=False)
            sources.append(replace(source, files=str(path)))
        values = 1 + len(stored.extremes)
        made.append(
            Pair(
                name=f"{source.engine}, Parquet, {stored.name}",
                without=sources[0], hostile=sources[1], units=sources[2], values=values,
                empty=stored.ordinary is None,
            )
        )  # fmt: skip
    return made


# Tables of databases: types, and values as they are written in SQL.


def _sql(
    name: str, ordinary: str, *extremes: str, named: str = "", natural: tuple[Kind, ...] = ()
) -> Stored:
    return Stored(
        name=named or name, type=name, ordinary=ordinary, extremes=extremes, natural=natural
    )


def _quoted(texts: Iterable[str], more: str = "") -> tuple[str, ...]:
    return tuple("'" + text.replace("'", "''") + "'" + more for text in texts)


def _whole_types(*types: tuple[str, int, bool]) -> Iterator[Stored]:
    for name, bits, signed in types:
        least = -(2 ** (bits - 1)) if signed else 0
        most = 2 ** (bits - signed) - 1
        values = (least, least + 1, 0, 1, 2**7 - 1, most - 1, most)
        yield _sql(name, "5", *(f"'{value}'" for value in dict.fromkeys(values)))


_DUCK_TEXTS = tuple(
    f"'{text.replace(chr(39), chr(39) * 2)}'".replace("\0", "' || chr(0) || '") for text in _TEXTS
)
DUCKDB: tuple[Stored, ...] = (
    *_whole_types(
        ("TINYINT", 8, True), ("SMALLINT", 16, True), ("INTEGER", 32, True), ("BIGINT", 64, True),
        ("HUGEINT", 128, True), ("UTINYINT", 8, False), ("USMALLINT", 16, False),
        ("UINTEGER", 32, False), ("UBIGINT", 64, False), ("UHUGEINT", 128, False),
    ),
    _sql("BIGNUM", "5", f"'{'9' * 400}'", f"'-{'9' * 400}'", "0"),
    *(
        _sql(
            f"DECIMAL(38, {scale})", "5" if scale < 38 else "0.5", *_quoted((nines, f"-{nines}")),
            "0", f"'{Decimal((0, (1,), -scale)):f}'",
        )
        for scale in (0, 10, 38)
        for nines in ["9" * (38 - scale) + ("." + "9" * scale if scale else "")]
    ),
    _sql("DECIMAL(4, 1)", "5", "'999.9'", "'-999.9'", "'0.1'"),
    _sql("FLOAT", "5", *_quoted(("nan", "inf", "-inf", "-0", "3.4e38", "-3.4e38", "1e-45"))),
    _sql(
        "DOUBLE", "5",
        *_quoted((
            "nan", "inf", "-inf", "-0", "1.7e308", "-1.7e308", "5e-324", "2.3e-308", "9.3e18",
            "9007199254740993", "1e15", "0.5",
        )),
    ),
    _sql("BOOLEAN", "true", "false"),
    _sql(
        "DATE", "'2024-02-29'",
        *_quoted((
            "infinity", "-infinity", "0001-01-01", "0001-01-01 (BC)", "9999-12-31", "10000-01-01",
            "5881580-07-10", "5877642-06-25 (BC)",
        )),
    ),
    *(
        _sql(name, "'2024-02-29 12:00:00'", *_quoted(values))
        for name, values in {
            "TIMESTAMP": (
                "infinity", "-infinity", "0001-01-01", "0044-03-15 (BC)", "9999-12-31 23:59:59",
                "10000-01-01", "294247-01-10 04:00:54.775806", "290309-12-22 (BC) 00:00:00",
            ),
            "TIMESTAMPTZ": (
                "infinity", "-infinity", "0001-01-01 00:00:00+14", "0044-03-15 (BC) 00:00:00+00",
                "9999-12-31 23:59:59-12", "294247-01-10 04:00:54.775806+00",
            ),
            "TIMESTAMP_S": ("0001-01-01", "9999-12-31", "294247-01-10 04:00:54", "infinity"),
            "TIMESTAMP_MS": ("0001-01-01", "9999-12-31", "infinity", "-infinity"),
            "TIMESTAMP_NS": ("1677-09-22", "2262-04-11 23:47:16", "infinity", "-infinity"),
        }.items()
    ),
    _sql("TIME", "'12:00:00'", "'00:00:00'", "'24:00:00'", "'23:59:59.999999'"),
    _sql("TIMETZ", "'12:00:00+00'", "'00:00:00+15:59'", "'24:00:00-15:59'"),
    _sql("TIME_NS", "'12:00:00'", "'00:00:00'", "'23:59:59.999999999'"),
    _sql(
        "INTERVAL", "'5 days'", "'2147483647 months'", "'-2147483648 days'",
        "to_microseconds(9223372036854775807)",
    ),
    _sql("UUID", f"'{'0' * 31}5'", f"'{'f' * 32}'"),
    _sql("BIT", "'101'", "'0'", f"'{'1' * 1000}'"),
    _sql("BLOB", "'5'::BLOB", "''::BLOB", r"'\x00'::BLOB", r"'\xFF\xC3('::BLOB"),
    _sql("ENUM ('5', 'a', 'A', '')", "'5'", "'a'", "'A'", "''", named="ENUM"),
    _sql("VARCHAR", "'5'", *_DUCK_TEXTS),
    *(
        _sql(f"VARCHAR COLLATE {name}", "'5'", *_DUCK_TEXTS, named=f"VARCHAR of collation {name}")
        for name in ("NOCASE", "NOACCENT", "NFC", "NOCASE.NOACCENT")
    ),
    _sql("JSON", "'5'", "'null'", "'{\"a\": 1}'", f"'{'9' * 400}'", r"""'"\u0000"'"""),
    _sql("UNION(a BIGINT, b VARCHAR)", "5::BIGINT", "'a'", "'9223372036854775807'", named="UNION"),
    _sql("BIGINT[]", "[5]", "[]", "[NULL]"),
    _sql("BIGINT[2]", "[5, 5]", "[NULL, NULL]"),
    _sql("STRUCT(a DOUBLE)", "{'a': 5}", "{'a': 'nan'::DOUBLE}", "{'a': NULL}"),
    _sql("MAP(VARCHAR, BIGINT)", "MAP {'a': 5}", "MAP {}"),
    _sql("BIGINT GENERATED ALWAYS AS (id) VIRTUAL", "", named="a generated column"),
)  # fmt: skip


def duckdb_pairs(path: Path) -> list[Pair]:
    """A DuckDB file with the tables of every type."""
    import duckdb

    made = []
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for number, stored in enumerate(DUCKDB):
            for sql in _statements(number, stored):
                connection.execute(sql)
            made.append(_placed(Source(engine="duckdb", connection=str(path)), number, stored))
    return made


def _statements(number: int, stored: Stored) -> Iterator[str]:
    for name, rows in (
        (f"without_{number}", _people(stored, hostile=False)),
        (f"with_{number}", _people(stored, hostile=True)),
        (f"units_{number}", _units(stored)),
    ):
        if "GENERATED" in stored.type:
            yield f"CREATE TABLE {name} (id BIGINT, x {stored.type}, y BIGINT)"
            yield f"INSERT INTO {name} (id, y) VALUES (5, 0)"
            continue
        names = ("id", "y") if name.startswith("units") else ("id", "x")
        types = [stored.type if place else "BIGINT" for place in (0, 1)]
        if name.startswith("units"):
            types.reverse()
        yield f"CREATE TABLE {name} ({names[0]} {types[0]}, {names[1]} {types[1]})"
        values = ", ".join(f"({_or_null(one)}, {_or_null(other)})" for one, other in rows)
        yield f"INSERT INTO {name} VALUES {values}"


def _or_null(value: Any) -> str:
    return "NULL" if value is None else str(value)


def _placed(source: Source, number: int, stored: Stored) -> Pair:
    return Pair(
        name=f"{source.engine}, {stored.name}",
        without=replace(source, table=f"without_{number}"),
        hostile=replace(source, table=f"with_{number}"),
        units=replace(source, table=f"units_{number}"),
        values=1 + len(stored.extremes),
    )


_PG_TEXTS = _quoted(text for text in _TEXTS if "\0" not in text)
POSTGRES: tuple[Stored, ...] = (
    *_whole_types(("smallint", 16, True), ("integer", 32, True), ("bigint", 64, True)),
    _sql("oid", "5", "0", "4294967295"),
    _sql(
        "numeric", "5", *_quoted(("NaN", "Infinity", "-Infinity", "1e1000", "-1e1000", "1e-1000",
        "-1e-1000", "1e130000", "1e-16000", "0", "1e15", "9007199254740993.5")),
    ),
    _sql("numeric(38, 10)", "5", "'NaN'", f"'{'9' * 28}'", "'0.0000000001'"),
    _sql("numeric(1000, 0)", "5", "'NaN'", f"'{'9' * 1000}'"),
    _sql("numeric(1000, 1000)", "0.5", "'NaN'", "'1e-1000'"),
    _sql("numeric(3, -2)", "500", "'NaN'", "'99900'"),
    _sql(
        "real", "5", *_quoted(("NaN", "Infinity", "-Infinity", "-0", "3.4e38", "-3.4e38", "1e-45")),
    ),
    _sql(
        "double precision", "5",
        *_quoted((
            "NaN", "Infinity", "-Infinity", "-0", "1.7e308", "-1.7e308", "5e-324", "2.3e-308",
            "9.3e18", "9007199254740993", "1e15", "0.5",
        )),
    ),
    _sql("money", "'5'", "'92233720368547758.07'", "'-92233720368547758.08'", "'0.01'"),
    _sql("boolean", "true", "false"),
    *(
        _sql(name, "'5'", *(text for text in _PG_TEXTS if len(text) < 12))
        for name in ("varchar(20)", "name")
    ),
    # To char(n), blanks at the end are nothing.
    _sql("char(20)", "'5'", *(text for text in _PG_TEXTS if len(text) < 12 and text[-2] != " ")),
    _sql("text", "'5'", *_PG_TEXTS),
    _sql("varchar", "'5'", *_PG_TEXTS),
    _sql('text COLLATE "C"', "'5'", *_PG_TEXTS, named="text of collation C"),
    _sql('"char"', "'5'", "'a'", "''", r"'\200'"),
    _sql("bytea", "'5'", "''", r"'\x00'", r"'\xffc328'"),
    _sql(
        "date", "'2024-02-29'",
        *_quoted(("infinity", "-infinity", "0001-01-01", "0001-01-01 BC", "4713-01-01 BC",
        "9999-12-31", "10000-01-01", "5874897-12-31")),
    ),
    *(
        _sql(
            name, "'2024-02-29 12:00:00'",
            *_quoted(("infinity", "-infinity", "0001-01-01 00:00:00", "0001-12-31 23:59:59 BC",
            "4713-01-01 00:00:00 BC", "9999-12-31 23:59:59", "294276-12-31 23:59:59.999999")),
        )
        for name in ("timestamp", "timestamptz")
    ),
    _sql("time", "'12:00:00'", "'00:00:00'", "'24:00:00'"),
    _sql("timetz", "'12:00:00+00'", "'00:00:00+15:59'", "'24:00:00-15:59'"),
    _sql(
        "interval", "'5 days'", "'178000000 years'", "'-178000000 years'", "'infinity'",
        "'1 month'", "'30 days'",
    ),
    _sql("uuid", f"'{'0' * 31}5'", f"'{'f' * 32}'"),
    _sql("json", "'5'", "'null'", "'{\"a\": 1}'", f"'{'9' * 400}'", r"""'"\u0000"'""", "'1e400'"),
    _sql("jsonb", "'5'", "'null'", "'{\"a\": 1}'", f"'{'9' * 400}'", "'1e400'"),
    _sql("quaestor_mood", "'5'", "'a'", "'A'", "''"),
    _sql("quaestor_small", "5", "9", named="a domain of bigint"),
    _sql("bigint[]", "'{5}'", "'{}'", "'{NULL}'"),
    _sql("quaestor_pair", "'(5,a)'", "'(,)'"),
    _sql("int8range", "'[1,5)'", "'empty'", "'(,)'"),
    _sql("int8multirange", "'{[1,5)}'", "'{}'"),
    _sql("inet", "'10.0.0.5'", "'::1'", "'10.0.0.5/8'"),
    _sql("cidr", "'10.0.0.0/8'", "'::/0'"),
    _sql("macaddr", "'08:00:2b:01:02:03'", "'00:00:00:00:00:00'"),
    _sql("macaddr8", "'08:00:2b:01:02:03:04:05'", "'ff:ff:ff:ff:ff:ff:ff:ff'"),
    _sql("bit(3)", "'101'", "'000'"),
    _sql("bit varying", "'101'", f"'{'1' * 1000}'", "''"),
    _sql("point", "'(5,5)'", "'(NaN,Infinity)'"),
    _sql("box", "'(5,5),(0,0)'", "'(Infinity,Infinity),(NaN,0)'"),
    _sql("tsvector", "'a'", "''"),
    _sql("tsquery", "'a'", "'a & b'"),
    _sql("pg_lsn", "'0/5'", "'FFFFFFFF/FFFFFFFF'"),
    _sql("xid8", "'5'", "'18446744073709551615'"),
    _sql("jsonpath", "'$.a'", "'$'"),
    _sql("regclass", "'pg_class'", "4294967295"),
)  # fmt: skip
_PG_BEFORE = (
    "CREATE TYPE quaestor_mood AS ENUM ('5', 'a', 'A', '')",
    "CREATE TYPE quaestor_pair AS (a bigint, b text)",
    "CREATE DOMAIN quaestor_small AS bigint CHECK (VALUE < 10)",
)


def postgres_pairs(address: str, variable: str) -> list[Pair]:
    """The tables of every type on a PostgreSQL server, in an empty database."""
    import psycopg

    made = []
    with psycopg.connect(address) as connection:
        for sql in _PG_BEFORE:
            connection.execute(sql.encode())
        for number, stored in enumerate(POSTGRES):
            for sql in _statements(number, stored):
                connection.execute(sql.encode())
            made.append(_placed(Source(engine="postgres", connection=variable), number, stored))
    return made


# CSV files: lines as they are written, in the middle of ordinary ones.

CSV_LINES: dict[str, bytes] = {
    "not UTF-8": b"1000,\xff\xc3(\n",
    "a surrogate": b"1000,\xed\xa0\x80\n",
    "a null byte": b"1000,a\0b\n",
    "only null bytes": b"\0\0\0\n",
    "a quoted line break": b'1000,"a\nb"\n',
    "a quoted line break before a person": b'1000,"a\n3,5\nb"\n',
    "quotes inside": b'1000,a"b"c\n',
    "doubled quotes": b'1000,"a""b"\n',
    "text after the quote": b'1000,"a"b\n',
    "a backslash before a quote": b'1000,"a\\"\n',
    "a lone carriage return": b"1000,a\rb\n",
    "a carriage return that ends the line": b"1000,a\r3,5\n",
    "another end of the line": b"1000,a\r\n",
    "many commas": b"1000,a,b,c,d,e\n",
    "one field": b"1000\n",
    "empty fields": b",\n,,\n",
    "empty lines": b"\n\n\n",
    "blanks around": b" 1000 , 5 \n",
    "a comment": b"# 1000,5\n",
    "a mark of byte order": b"\xef\xbb\xbf1000,5\n",
    "the header again": b"id,x\n",
    "three million letters": b"1000," + b"a" * 3_000_000 + b"\n",
    "three million letters in quotes": b'1000,"' + b"a" * 3_000_000 + b'"\n',
    "many thousand fields": b"1000" + b",a" * 30_000 + b"\n",
    "a separator of lines": "1000,a\u2028b\u0085c\n".encode(),
    "a form feed": b"1000,a\x0cb\x0b\x1c\x1a\n",
}
"""What a person's line can be; none may take others' lines with it."""
CSV_VALUES: tuple[str, ...] = tuple(
    text for text in _TEXTS if not {"\0", "\n", "\r", '"', ","} & set(text)
)


def csv_pairs(folder: Path, source: Source, *, lines: bool = True) -> list[Pair]:
    """CSV files: one of values that are hard to read, and one for every kind of line."""
    (folder / "without").mkdir(exist_ok=True)
    (folder / "with").mkdir(exist_ok=True)
    values = b"".join(b"1000,%s\n" % text.encode() for text in CSV_VALUES)
    made = []
    for number, (name, hostile) in enumerate(
        {"values": values, **(CSV_LINES if lines else {})}.items()
    ):
        half = [b"%d,5\n" % person for person in range(1, 40)]
        before, after = b"id,x\n" + b"".join(half[:6]), b"".join(half[6:]) + b"40,\n"
        paths = [folder / one / f"{number}.csv" for one in ("without", "with")]
        paths[0].write_bytes(before + after)
        paths[1].write_bytes(before + hostile + after)
        without, with_hostile = (replace(source, files=str(path)) for path in paths)
        made.append(
            Pair(name=f"{source.engine}, CSV, {name}", without=without, hostile=with_hostile)
        )
    return made


# Spark: what its own tables can be of; and Parquet files, several types in one.

SPARK: tuple[Stored, ...] = (
    *(
        replace(stored, natural=("integer", "real"))
        for stored in _whole_types(
            ("tinyint", 8, True), ("smallint", 16, True), ("int", 32, True), ("bigint", 64, True)
        )
    ),
    *(
        _sql(
            name, "5", *_quoted(("NaN", "Infinity", "-Infinity", "-0", most, f"-{most}", least)),
            natural=("integer", "real"),
        )
        for name, most, least in (("float", "3.4e38", "1e-45"), ("double", "1.7e308", "5e-324"))
    ),
    *(
        _sql(
            f"decimal(38, {scale})", "5" if scale < 38 else "0.5", f"'{nines}'", f"'-{nines}'",
            natural=("integer", "real"),
        )
        for scale in (0, 10, 38)
        for nines in ["9" * (38 - scale) + ("." + "9" * scale if scale else "")]
    ),
    _sql("boolean", "true", "false", natural=("boolean",)),
    _sql(
        "date", "'2024-02-29'",
        *_quoted(("0001-01-01", "-0044-03-15", "9999-12-31", "+10000-01-01")),
        "date_from_unix_date(2147483647)", "date_from_unix_date(-2147483648)", natural=("date",),
    ),
    *(
        _sql(
            name, "'2024-02-29 12:00:00'",
            *_quoted(("0001-01-01 00:00:00", "-0044-03-15 00:00:00", "9999-12-31 23:59:59.999999")),
            f"CAST(timestamp_micros(9223372036854775807) AS {name})",
            f"CAST(timestamp_micros(-9223372036854775808) AS {name})",
            natural=("date", "timestamp"),
        )
        for name in ("timestamp", "timestamp_ntz")
    ),
    _sql(
        "string", "'5'", *_quoted(text for text in _TEXTS if "\0" not in text and "\\" not in text),
        "'a\\0b'", r"'\\'", "CAST(X'FF' AS string)", "CAST(X'C328' AS string)",
        natural=("text", "integer", "real", "date", "boolean"),
    ),
)  # fmt: skip
SPARK_ODD: tuple[Stored, ...] = (
    _sql("string COLLATE UTF8_LCASE", "'a'", "'A'", "'B'", named="text that ignores case"),
    _sql("string COLLATE UNICODE_CI_AI", "'a'", "'A'", "'ä'", named="text that ignores accents"),
    _sql("binary", "X'35'", "X''", "X'00'", "X'FFC328'"),
    _sql("array<bigint>", "array(5L)", "array()", "array(NULL)"),
    _sql("map<string, bigint>", "map('a', 5L)", "map()"),
    _sql("struct<a: double>", "named_struct('a', 5D)", "named_struct('a', double('NaN'))"),
    _sql("interval day to second", "INTERVAL '5' DAY", "INTERVAL '-106751991' DAY"),
    _sql("char(5)", "'a'", "'b'"),
    _sql("varchar(5)", "'a'", "'a '", "'A'"),
)


def wide(
    types: Iterable[Stored], *, hostile: bool
) -> tuple[list[tuple[str, Stored]], list[list[Any]]]:
    """Many types as the columns of one table: what they are called, and the rows."""
    columns = [(f"x{place}", stored) for place, stored in enumerate(types)]
    most = max(len(stored.extremes) for _, stored in columns)
    rows: list[list[Any]] = [
        [person, *(stored.ordinary for _, stored in columns)] for person in range(1, _ORDINARY)
    ]
    rows.append([_ORDINARY, *(None for _ in columns)])
    for place in range(most if hostile else 0):
        values = [(stored.extremes * most)[place] for _, stored in columns]
        rows.append([HOSTILE, *values])
    return columns, rows


def spark_table(session: Any, name: str, types: Iterable[Stored], *, hostile: bool) -> None:
    """A table of Spark with the types as columns."""
    columns, rows = wide(types, hostile=hostile)
    declared = ", ".join(f"{column} {stored.type}" for column, stored in columns)
    session.sql(f"CREATE TABLE {name} (id bigint, {declared}) USING parquet")
    session.sql(f"INSERT INTO {name} VALUES {', '.join(_row(row, columns) for row in rows)}")


def _row(row: list[Any], columns: list[tuple[str, Stored]]) -> str:
    cells = [
        f"CAST({_or_null(value)} AS {stored.type})"
        for value, (_, stored) in zip(row[1:], columns, strict=True)
    ]
    return f"({row[0]}, {', '.join(cells)})"


def spark_units(session: Any, name: str, stored: Stored) -> None:
    """A table of Spark with the values of a type as units."""
    session.sql(f"CREATE TABLE {name} (id {stored.type}, y bigint) USING parquet")
    rows = (f"(CAST({_or_null(v)} AS {stored.type}), {_or_null(y)})" for v, y in _units(stored))
    session.sql(f"INSERT INTO {name} VALUES {', '.join(rows)}")


def parquet_wide(path: Path, types: Iterable[Stored], *, hostile: bool) -> None:
    """A Parquet file with the types as columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns, rows = wide(types, hostile=hostile)
    made = {"id": pa.array([row[0] for row in rows], pa.int64())}
    for place, (column, stored) in enumerate(columns, start=1):
        made[column] = stored.type([row[place] for row in rows])
    pq.write_table(arrow_table(made), path, store_schema=False)


_WIDE: dict[Kind, tuple[str, ...]] = {
    "integer": ("{x} > 5", "CAST(CLAMP({x}, -9, 9) AS TEXT) = '5'"),
    "real": ("{x} > 5", "SQRT(CLAMP({x}, -9, 9)) + LN(CLAMP({x}, 1, 9)) > 2"),
    "text": (
        "{x} > '5'", "LENGTH(UPPER({x})) > 1", "{x} LIKE '%5_'", "CAST({x} AS DOUBLE) > 1",
        "CAST({x} AS DATE) > '2020-01-01'", "CAST({x} AS BOOLEAN)",
    ),
    "date": (
        "{x} = '2024-02-29'", "YEAR({x}) + DAYOFWEEK({x}) = 2028", "CAST({x} AS TEXT) LIKE '2%'",
        "DATE_TRUNC('month', {x}) = '2024-02-01'",
    ),
    "boolean": ("{x}", "CAST({x} AS TEXT) = 'true'"),
}  # fmt: skip


def wide_questions(
    types: Iterable[Stored], *, every: bool = True
) -> Iterator[tuple[tuple[ColumnFacts, ...], str, str]]:
    """Of every kind all columns that can be of it, in one statement: facts, question, kind.

    Of a column ``every`` test, or one: those of a kind in turn, so that each is of some column.
    """
    columns = [(f"x{place}", stored) for place, stored in enumerate(types)]
    for kind, tests in _WIDE.items():
        names = [name for name, stored in columns if kind in stored.natural]
        facts = tuple(ColumnFacts(name=name, kind=kind) for name in names)
        counts = [
            test.format(x=name)
            for place, name in enumerate(names)
            for at, test in enumerate(tests)
            if every or len(names) < len(tests) or at == place % len(tests)
        ]
        listed = ", ".join(f"COUNT_IF({test}) AS c{place}" for place, test in enumerate(counts))
        if names:
            yield facts, f"SELECT {listed} FROM t", kind
    names = [name for name, stored in columns if "real" in stored.natural]
    facts = tuple(
        ColumnFacts(name=name, kind="real", low=-30.0, high=30.0, granularity=0.25)
        for name in names
    )
    listed = ", ".join(f"SUM({name}) AS {name}s" for name in names)
    yield facts, f"SELECT {listed}, MEDIAN({names[0]}) AS q FROM t", "real with bounds"
    texts = [name for name, stored in columns if "text" in stored.natural]
    facts = (ColumnFacts(name=texts[-1], kind="text"),)
    yield facts, f"SELECT {texts[-1]} AS k, COUNT(*) AS n FROM t GROUP BY 1", "key of kind text"
