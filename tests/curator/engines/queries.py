"""The conformance queries: every expression, function, measure, join and kind of key."""

from __future__ import annotations

from typing import Any

from quaestor.curator.aggregates import kind_of
from quaestor.curator.kernel.measures import Distinct, Measure, RowCount, Total, Units, ValueCounts
from quaestor.curator.language.compound import Compound
from quaestor.curator.language.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Kind,
    Like,
    Logic,
    Member,
    Not,
)
from quaestor.curator.language.query import (
    Aggregate,
    Contribution,
    Filtered,
    Join,
    Key,
    PerUnit,
    Projected,
    Query,
    Relation,
    Scan,
    UnitFigure,
)
from quaestor.curator.pricing.offers import measures_of
from quaestor.curator.sql import parse_question
from tests.curator.engines.data import CATALOG

__all__ = ["CASES", "NUMBERS", "TRUTHS", "WORDS", "asked", "column", "total", "truth"]

Case_ = tuple[Query, tuple[Measure, ...]]

column = Column
_PATIENTS = {"visits": "patient", "people": "person", "logins": "login", "empty": "id"}


def integer(value: int | None) -> Constant:
    return Constant(value, "integer")


def real(value: float | None) -> Constant:
    return Constant(value, "real")


def text(value: str | None) -> Constant:
    return Constant(value, "text")


def day(value: str | None) -> Constant:
    return Constant(value, "date")


def call(function: str, *arguments: Expression) -> Call:
    return Call(function, arguments)


def key(expression: Expression, kind: Kind, *values: Any, private: bool = False) -> Key:
    return Key(name="key", expression=expression, kind=kind, values=None if private else values)


def asked(
    rows: Relation | str, *keys: Key, most: int = 3, groups: int = 2, unit: str | None = None
) -> Query:
    """A query with these keys; a unit counts with ``most`` rows in each of ``groups`` groups."""
    relation = Scan(rows) if isinstance(rows, str) else rows
    return Query(
        dataset="clinic",
        rows=relation,
        unit=unit or _PATIENTS[str(rows)],
        contribution=Contribution(rows=most, groups=groups),
        keys=keys,
        aggregates=(),
        outputs=(),
    )


def total(operand: Expression, *, rows: int = 3, step: float = 2.0**-6) -> Total:
    return Total(operand=operand, low=-(2**24), high=2**24, step=step, rows=rows)


def truth(condition: Expression) -> RowCount:
    """How often a condition is true; with its opposite, how often it is NULL."""
    return RowCount(rows=1000, operand=Case(((condition, integer(1)),), integer(None)))


AGE, COST, TEMP, CODE = Column("age"), Column("cost"), Column("temp"), Column("code")
BILL, NOTE, WARD, SMOKER, DAY = (Column(n) for n in ("bill", "note", "ward", "smoker", "day"))
_ADULT = Comparison(">=", AGE, integer(40))

_PAIR = Aggregate(
    function="correlation",
    operand=Case(((Not(IsNull(COST)), AGE),), integer(None)),
    low=0.0,
    high=120.0,
    second=Case(((Not(IsNull(AGE)), COST),), real(None)),
    second_low=0.0,
    second_high=1000.0,
    second_step=0.25,
)
_BOTH, _THREE, _YES = (True, False), (True, False, None), (True, None)

NUMBERS: dict[str, Expression] = {
    "integer column": AGE,
    "real column with granularity": COST,
    "decimal column": BILL,
    "plus": Arithmetic("+", AGE, COST),
    "minus": Arithmetic("-", COST, TEMP),
    "times": Arithmetic("*", TEMP, TEMP),
    "five factors": Arithmetic(
        "*",
        Arithmetic("*", TEMP, TEMP),
        Arithmetic("*", Arithmetic("*", TEMP, TEMP), Arithmetic("*", TEMP, CODE)),
    ),
    "over": Arithmetic("/", COST, AGE),
    "over what may be tiny": Arithmetic("/", AGE, TEMP),
    "over over": Arithmetic("/", AGE, Arithmetic("/", AGE, Arithmetic("/", CODE, TEMP))),
    "over zero": Arithmetic("/", AGE, integer(0)),
    "over what is zero": Arithmetic("/", TEMP, Arithmetic("-", AGE, AGE)),
    "decimal constants": Arithmetic(
        "*",
        AGE,
        Case(
            ((Comparison("=", Arithmetic("+", real(0.1), real(0.2)), real(0.3)), real(2.0)),),
            real(1.0),
        ),
    ),
    "modulo": Arithmetic("%", Arithmetic("-", AGE, integer(50)), integer(7)),
    "modulo of reals": Arithmetic("%", TEMP, real(2.5)),
    "modulo of codes": Arithmetic("%", CODE, AGE),
    "modulo zero": Arithmetic("%", AGE, Arithmetic("-", AGE, AGE)),
    "abs": call("abs", TEMP),
    "sign": call("sign", TEMP),
    "floor": call("floor", TEMP),
    "ceil": call("ceil", TEMP),
    "round": call("round", TEMP),
    "round to digits": call("round", TEMP, integer(1)),
    "round to tens": call("round", CODE, integer(-1)),
    "sqrt": call("sqrt", TEMP),
    "ln": call("ln", TEMP),
    "log10": call("log10", Arithmetic("-", COST, integer(3))),
    "exp": call("exp", TEMP),
    "clamp": call("clamp", TEMP, real(-0.5), integer(10)),
    "clamp between columns": call("clamp", TEMP, real(1.0), AGE),
    "least": call("least", TEMP, AGE, real(12.5)),
    "greatest": call("greatest", TEMP, AGE),
    "coalesce": call("coalesce", TEMP, AGE, integer(1)),
    "nullif": call("nullif", AGE, integer(27)),
    "case": Case(
        ((Comparison("<", TEMP, real(0.0)), AGE), (SMOKER, COST)),
        real(None),
    ),
    "case without else": Case(((SMOKER, integer(3)),), integer(None)),
    "length": call("length", NOTE),
    "text to real": Cast(NOTE, "real"),
    "text to integer": Cast(NOTE, "integer"),
    "real to integer": Cast(TEMP, "integer"),
    "integer to real": Cast(CODE, "real"),
    "boolean to integer": Cast(SMOKER, "integer"),
    "boolean to real": Cast(_ADULT, "real"),
    "year": call("year", DAY),
    "quarter": call("quarter", DAY),
    "month": call("month", DAY),
    "day": call("day", DAY),
    "day of week": call("dow", DAY),
    "week": call("week", DAY),
    "day of year": call("doy", DAY),
    "days between": call("days_between", day("2000-02-28"), DAY),
    "year of text": call("year", Cast(NOTE, "date")),
    "unit": Arithmetic("%", Column("patient"), integer(5)),
}

TRUTHS: dict[str, Expression] = {
    "equal": Comparison("=", AGE, integer(27)),
    "unequal": Comparison("<>", TEMP, real(36.6)),
    "less": Comparison("<", TEMP, COST),
    "at most": Comparison("<=", COST, real(12.34)),
    "huge codes are equal": Comparison("=", CODE, real(2.0**53)),
    "text equal": Comparison("=", WARD, text("O'Hara\\%")),
    "text less": Comparison("<", NOTE, text("Z")),
    "text at least": Comparison(">=", NOTE, WARD),
    "boolean less": Comparison("<", SMOKER, _ADULT),
    "date less": Comparison("<", DAY, day("1970-01-01")),
    "date from text": Comparison("=", Cast(NOTE, "date"), day("2024-02-29")),
    "and": Logic("and", (_ADULT, SMOKER, IsNull(NOTE))),
    "or": Logic("or", (_ADULT, SMOKER)),
    "not": Not(Logic("or", (_ADULT, SMOKER))),
    "is null": IsNull(TEMP),
    "member": Member(WARD, (text("north"), text(""), text("Ö"))),
    "member with null": Member(AGE, (integer(27), integer(None))),
    "not member with null": Not(Member(AGE, (integer(27), integer(None)))),
    "member of nothing": Member(AGE, ()),
    "like": Like(WARD, "_or%"),
    "like a backslash": Like(WARD, "%\\%"),
    "like everything": Like(NOTE, "%"),
    "like one character": Like(NOTE, "_"),
    "like two": Like(NOTE, "__"),
    "like a line break": Like(NOTE, "12_"),
    "text to boolean": Cast(NOTE, "boolean"),
    "number to boolean": Cast(TEMP, "boolean"),
    "null constant": Comparison("=", integer(None), AGE),
    "true constant": Constant(value=True, kind="boolean"),
    "nullif of text": IsNull(call("nullif", WARD, text(""))),
    "dates": Comparison("=", call("greatest", DAY, day("2000-01-01")), DAY),
    "unit": Comparison("=", Column("patient"), integer(17)),
}

WORDS: dict[str, tuple[Expression, Kind]] = {
    "text": (WARD, "text"),
    "upper": (call("upper", NOTE), "text"),
    "lower": (call("lower", WARD), "text"),
    "substring": (call("substring", NOTE, integer(2), integer(3)), "text"),
    "substring from before": (call("substring", NOTE, integer(-1), integer(3)), "text"),
    "substring to the end": (call("substring", NOTE, integer(2)), "text"),
    "trimmed": (call("trim", NOTE), "text"),
    "trimmed left": (call("ltrim", call("concat", text("  "), NOTE)), "text"),
    "trimmed right": (call("rtrim", call("concat", WARD, text(" "))), "text"),
    "joined texts": (call("concat", NOTE, WARD), "text"),
    "coalesced": (call("coalesce", WARD, NOTE), "text"),
    "case of texts": (Case(((SMOKER, text("x\ny")),), text('"')), "text"),
    "integer to text": (Cast(CODE, "text"), "text"),
    "boolean to text": (Cast(SMOKER, "text"), "text"),
    "date to text": (Cast(DAY, "text"), "text"),
    "integers": (CODE, "integer"),
    "booleans": (SMOKER, "boolean"),
    "dates": (DAY, "date"),
    "months": (call("first_of_month", DAY), "date"),
    "years": (call("first_of_year", DAY), "date"),
    "weeks": (call("first_of_week", DAY), "date"),
    "quarters": (call("first_of_quarter", DAY), "date"),
    "days later": (call("add_days", DAY, AGE), "date"),
    "months later": (call("add_months", DAY, Arithmetic("-", AGE, integer(50))), "date"),
    "tens": (call("floor", Arithmetic("/", AGE, integer(10))), "integer"),
}

_PLAIN: tuple[Measure, ...] = (
    Units(),
    RowCount(rows=3),
    RowCount(rows=2, operand=COST),
    total(COST, rows=2),
    Total(operand=TEMP, low=-40, high=90, step=0.25, rows=1),
)
_ALL: tuple[Measure, ...] = (
    *_PLAIN,
    Distinct(operand=NOTE, rows=2),
    ValueCounts(operand=TEMP, low=-20, high=80, step=0.5, rows=2),
)
_WARDS = key(WARD, "text", "north", "Z", "", "nowhere", "O'Hara\\%", "östlich")
_VISITS = Scan("visits")
_SICK = Filtered(_VISITS, Comparison("<", AGE, integer(70)))
_RENAMED = Projected(
    _SICK,
    (("who", Column("patient")), ("spent", Arithmetic("*", COST, integer(2))), ("where", WARD)),
)
_WITH_WARD = Join(_VISITS, Scan("wards"), ((WARD, Column("ward_name")),), "inner")
_PEOPLE = Filtered(Scan("people"), Comparison("<>", Column("team"), text("green")))
_WITH_PEOPLE = Join(_VISITS, _PEOPLE, ((Column("patient"), Column("person")),), "inner")
_UNITS = PerUnit(
    _SICK,
    (
        ("who", UnitFigure(function="least", operand=Column("patient"))),
        ("n", UnitFigure(function="rows", most=4)),
        ("k", UnitFigure(function="values", operand=TEMP, most=3)),
        ("c", UnitFigure(function="different", operand=WARD, most=9)),
        ("t", UnitFigure(function="total", operand=COST, most=3, low=0, high=500, step=1.0)),
        ("m", UnitFigure(function="mean", operand=TEMP, most=9, low=-40, high=160, step=0.25)),
        ("low", UnitFigure(function="least", operand=AGE)),
        ("high", UnitFigure(function="greatest", operand=TEMP)),
        ("word", UnitFigure(function="greatest", operand=NOTE)),
        ("first", UnitFigure(function="least", operand=DAY)),
    ),
)
_BOSS = (total(Column("level")), RowCount(rows=2, operand=Column("boss")), Units())


def _case(*measures: Measure, query: Query) -> Case_:
    return query, measures


CASES: dict[str, Case_] = {
    "no keys": (asked("visits"), _ALL),
    "no keys, hardly a limit": (asked("visits", most=1000), _ALL),
    "declared texts": (asked("visits", _WARDS), _ALL),
    "declared texts, no limit of groups": (asked("visits", _WARDS, groups=6), _ALL),
    "one row in one group": (asked("visits", _WARDS, most=1, groups=1), _ALL),
    "NULL is declared": (asked("visits", key(WARD, "text", "north", None)), _PLAIN),
    "NULL alone is declared": (asked("visits", key(WARD, "text", None)), _PLAIN),
    "declared integers": (asked("visits", key(AGE, "integer", 27, 41, 120, 0, 500)), _ALL),
    "declared integers in a row": (asked("visits", key(AGE, "integer", *range(20, 60))), _PLAIN),
    "declared integers in steps": (
        asked("visits", key(AGE, "integer", *range(20, 90, 7), None)),
        _PLAIN,
    ),
    "declared reals": (asked("visits", key(COST, "real", 0.0, 12.34, 1000.0, 7.0)), _PLAIN),
    "declared booleans": (asked("visits", key(SMOKER, "boolean", *_BOTH), groups=1), _ALL),
    "declared dates": (
        asked("visits", key(DAY, "date", "2024-02-29", "0001-01-01", None), groups=1),
        _ALL,
    ),
    "a condition as a key": (asked("visits", key(_ADULT, "boolean", *_THREE)), _PLAIN),
    "two declared keys": (
        asked("visits", _WARDS, key(SMOKER, "boolean", *_THREE), groups=3),
        _ALL,
    ),
    "private texts": (asked("visits", key(NOTE, "text", private=True)), _ALL),
    "private and declared": (
        asked("visits", key(WARD, "text", private=True), key(SMOKER, "boolean", *_YES)),
        _ALL,
    ),
    "filtered": (asked(_SICK, _WARDS, unit="patient"), _ALL),
    "filtered away": (
        asked(Filtered(_VISITS, Comparison("=", AGE, integer(1))), _WARDS, unit="patient"),
        _ALL,
    ),
    "filtered away, no keys": (
        asked(Filtered(_VISITS, Comparison("=", AGE, integer(1))), unit="patient"),
        _ALL,
    ),
    "filtered away, private keys": (
        asked(
            Filtered(_VISITS, Comparison("=", AGE, integer(1))),
            key(WARD, "text", private=True),
            unit="patient",
        ),
        _ALL,
    ),
    "projected": (
        asked(_RENAMED, key(Column("where"), "text", private=True), unit="who"),
        (
            total(Column("spent")),
            RowCount(rows=3),
            ValueCounts(operand=Column("spent"), low=0, high=2000, step=1.0, rows=2),
        ),
    ),
    "nested": (
        asked(
            Filtered(
                Projected(
                    Filtered(_RENAMED, Comparison(">", Column("spent"), integer(5))),
                    (("id", Column("who")), ("half", Arithmetic("/", Column("spent"), real(4.0)))),
                ),
                Not(IsNull(Column("half"))),
            ),
            unit="id",
        ),
        (total(Column("half")), Units()),
    ),
    "joined with a public table": (asked(_WITH_WARD, unit="patient"), _BOSS),
    "left join": (
        asked(
            Join(_VISITS, Scan("wards"), ((WARD, Column("ward_name")),), "left"),
            key(Column("level"), "integer", 0, 1, 2, None),
            unit="patient",
        ),
        _BOSS,
    ),
    "marked by a public table": (
        asked(
            Join(
                _VISITS,
                Projected(
                    Scan("wards"),
                    (
                        ("a_ward", Column("ward_name")),
                        ("there", Constant(value=True, kind="boolean")),
                    ),
                ),
                ((WARD, Column("a_ward")),),
                "left",
                unique=True,
            ),
            key(Column("there"), "boolean", *_YES),
            unit="patient",
            most=1000,
        ),
        (RowCount(rows=1000), Units()),
    ),
    "one row a unit": (
        asked(_UNITS, key(Column("first"), "date", private=True), unit="who", most=1, groups=1),
        (
            Units(),
            *(total(Column(name)) for name in ("n", "k", "c", "t", "m", "low", "high")),
            RowCount(rows=1, operand=Column("word")),
        ),
    ),
    "units by figures": (
        asked(_UNITS, key(Column("n"), "integer", 1, 2, 3, 4, 5), unit="who"),
        (Units(), Distinct(operand=Column("word"), rows=1), total(Column("m"))),
    ),
    "joined with units": (
        asked(
            Join(_VISITS, _UNITS, ((Column("patient"), Column("who")),), "left"),
            key(Column("n"), "integer", 1, 2, 3, 4, 5, None),
            unit="patient",
        ),
        (RowCount(rows=3), Units()),
    ),
    "joined with a private table": (
        asked(_WITH_PEOPLE, key(Column("team"), "text", "red", "blue"), unit="patient"),
        (total(Column("weight")), RowCount(rows=3), Units()),
    ),
    "joined twice": (
        asked(
            Join(_WITH_PEOPLE, Scan("wards"), ((WARD, Column("ward_name")),), "inner"),
            key(Column("boss"), "text", private=True),
            unit="person",
        ),
        (total(Column("weight")), total(Column("level")), Units()),
    ),
    "units that are texts": (
        asked("logins", key(Column("site"), "text", "a", "A", "b:c", ";", "", None)),
        (
            Units(),
            RowCount(rows=2),
            total(Column("amount"), rows=2, step=1.0),
            Distinct(operand=Column("amount"), rows=2),
            ValueCounts(operand=Column("amount"), low=-100, high=100, step=1.0, rows=3),
        ),
    ),
    "units that are texts, private keys": (
        asked("logins", key(Column("site"), "text", private=True), groups=1, most=4),
        (Units(), total(Column("amount"), rows=4, step=1.0)),
    ),
    "an empty table": (
        asked("empty", key(Column("x"), "real", 0.0, 1.0)),
        (
            Units(),
            RowCount(rows=1),
            total(Column("x")),
            ValueCounts(operand=Column("x"), low=0, high=4, step=0.25, rows=1),
        ),
    ),
    "an empty table without keys": (
        asked("empty"),
        (Units(), RowCount(rows=1), total(Column("x"))),
    ),
    "thinned histograms": (
        asked("visits", key(SMOKER, "boolean", *_BOTH), most=4),
        tuple(
            ValueCounts(operand=COST, low=0, high=1000, step=1.0, rows=rows) for rows in (1, 3, 5)
        ),
    ),
    "negative totals": (
        asked("visits", _WARDS, groups=6),
        tuple(
            Total(operand=Arithmetic("-", AGE, integer(60)), low=-60, high=60, step=1.0, rows=rows)
            for rows in (1, 2, 3, 7)
        ),
    ),
    "two numbers, each where the other one has a value": (
        asked("visits", _WARDS, groups=6),
        kind_of("correlation").recipe(_PAIR, 3, centred=False).measures,
    ),
    "distinct values of every kind": (
        asked("visits", _WARDS),
        tuple(Distinct(operand=one, rows=2) for one in (WARD, AGE, SMOKER, DAY)),
    ),
}


def _battery() -> None:
    """Expressions, several to a query, so that a cluster need not be asked for each alone."""
    numbers = list(NUMBERS.items())
    for start in range(0, len(numbers), 12):
        some = numbers[start : start + 12]
        name = "numbers: " + ", ".join(name for name, _ in some)
        measures = [
            one for _, x in some for one in (total(x, rows=1000), RowCount(rows=1000, operand=x))
        ]
        CASES[name] = (
            asked("visits", key(SMOKER, "boolean", *_THREE), groups=3),
            tuple(measures),
        )
    truths = list(TRUTHS.items())
    for start in range(0, len(truths), 16):
        some = truths[start : start + 16]
        name = "conditions: " + ", ".join(name for name, _ in some)
        measures = [truth(y) for _, x in some for y in (x, Not(x))]
        CASES[name] = (asked("visits", most=1000), tuple(measures))
    for name, (word, kind) in WORDS.items():
        query = asked("visits", key(word, kind, private=True), groups=1000, most=1000)
        CASES[f"groups: {name}"] = (query, (Units(), RowCount(rows=1000)))


_TOGETHER = {
    "cube": (
        "SELECT ward, smoker, COUNT(*) AS n, SUM(cost) AS s FROM visits WHERE age < 70 "
        "GROUP BY CUBE (ward, smoker)"
    ),
    "rollup of private keys": (
        "SELECT note, smoker, GROUPING(note, smoker) AS g, COUNT(*) AS n, MEDIAN(age) AS m "
        "FROM visits GROUP BY ROLLUP (note, smoker)"
    ),
    "grouping sets": (
        "SELECT day, age // 10 AS band, COUNT(DISTINCT patient) AS n, COUNT(DISTINCT ward) AS w "
        "FROM visits GROUP BY GROUPING SETS ((day), (band), (), (band, day))"
    ),
    "union all": (
        "SELECT 'all' AS w, AVG(cost) AS x FROM visits UNION ALL "
        "SELECT ward, COUNT(*) FROM visits WHERE smoker GROUP BY ward UNION ALL "
        "SELECT NULL, SUM(CLAMP(level, 0, 5)) FROM visits JOIN wards ON ward = ward_name"
    ),
    "shares": (
        "SELECT smoker, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS p, "
        "SUM(cost) / SUM(SUM(cost)) OVER () AS q FROM visits GROUP BY smoker"
    ),
    "variances": (
        "SELECT smoker, VARIANCE(cost) AS v, COUNT(*) AS n, STDDEV_POP(age - 50) AS s, AVG(bill) "
        "AS a, VAR_POP(CLAMP(bill, 3, 35.5)) AS t FROM visits GROUP BY smoker"
    ),
}
"""SQL that asks several questions together, or whose figures share totals: each part by itself."""


def _together() -> None:
    for name, text in _TOGETHER.items():
        question = parse_question(text, CATALOG)
        parts = question.parts if isinstance(question, Compound) else (question,)
        for place, query in enumerate(parts, 1):
            CASES[f"{name}, part {place}"] = (query, measures_of(query).measures)


_battery()
_together()
