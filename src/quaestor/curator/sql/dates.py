"""Rules for dates: parts, first days, differences, and intervals that are added to them.

Whatever SQL spells in several ways becomes a few functions: days between two dates, and so many
days or months later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.analysis.facts import as_date, expect
from quaestor.curator.language.expressions import Arithmetic, Call, Case, Cast, Comparison, Constant
from quaestor.curator.sql.translator import only, refused
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.sql.translator import Translator

__all__ = ["DATES", "date_arithmetic", "named_part"]

_PARTS = {
    **{name: name for name in ("year", "quarter", "month", "day", "week", "dow", "doy")},
    "weekofyear": "week",
    "dayofweek": "dow",
    "dayofyear": "doy",
    "dayofmonth": "day",
}
_STEPS = {"day": ("add_days", 1), "week": ("add_days", 7), "month": ("add_months", 1),
          "quarter": ("add_months", 3), "year": ("add_months", 12)}  # fmt: skip
_FORMATS = {"%Y": 4, "%Y-%m": 7, "%Y-%m-%d": 10}
_LONGEST_SHIFT = 10_000_000


def named_part(t: Translator, name: str, operand: exp.Expr) -> Expression:
    """A part of a date by its name."""
    made = t.convert(operand)
    if name in {"hour", "minute", "second"}:
        return Call(name, (made,))
    made = day_of(t, made)
    if name in _PARTS:
        return Call(_PARTS[name], (made,))
    if name == "isodow":  # 1 for Monday to 7 for Sunday
        six, seven = Constant(6, "integer"), Constant(7, "integer")
        from_monday = Arithmetic("%", Arithmetic("+", Call("dow", (made,)), six), seven)
        return Arithmetic("+", from_monday, Constant(1, "integer"))
    if name == "isoyear":  # that of the Thursday of its week
        thursday = Call("add_days", (Call("first_of_week", (made,)), Constant(3, "integer")))
        return Call("year", (thursday,))
    raise RefusedQuery(
        f"{name.upper()[:20]} is not a part of a date",
        remedy="take YEAR, QUARTER, MONTH, WEEK, DAY, DAYOFWEEK or DAYOFYEAR of it, of times HOUR",
    )


def day_of(t: Translator, made: Expression) -> Expression:
    """A time as its date; anything else as it is."""
    return Call("date_of", (made,)) if t.analysis.kind(made) == "timestamp" else made


def _extract(t: Translator, node: exp.Extract) -> Expression:
    only(node, "this", "expression")
    return named_part(t, node.name.lower(), node.expression)


def _date_part(name: str) -> Callable[[Translator, Any], Expression]:
    def rule(t: Translator, node: exp.Func) -> Expression:
        only(node, "this")
        return named_part(t, name, node.this)

    return rule


def _truncated(t: Translator, node: exp.TimestampTrunc) -> Expression:
    only(node, "this", "unit")
    unit = node.args["unit"].name.lower()
    if unit in {"hour", "minute"}:
        return Call(f"first_of_{unit}", (t.convert(node.this),))
    if unit == "day":
        made = day_of(t, t.convert(node.this))
        expect(made, t.analysis.facts(made), frozenset({"date"}), "DATE_TRUNC")
        return made
    if unit not in {"week", "month", "quarter", "year"}:
        raise RefusedQuery(
            f"DATE_TRUNC does not support the unit {unit[:20]}",
            remedy="write DATE_TRUNC('month', x), or 'week', 'quarter', 'year'; times also 'hour'",
        )
    return Call(f"first_of_{unit}", (day_of(t, t.convert(node.this)),))


def _made(t: Translator, node: exp.DateFromParts) -> Expression:
    only(node, "year", "month", "day")
    parts = [
        _constant(t, node.args[name], most)
        for name, most in (("year", 9999), ("month", 12), ("day", 31))
    ]
    return as_date(Constant("{:04}-{:02}-{:02}".format(*parts), "text"))


def _constant(t: Translator, node: exp.Expr, most: int) -> int:
    made = t.convert(node)
    if isinstance(made, Constant) and type(made.value) is int and 1 <= made.value <= most:
        return made.value
    raise RefusedQuery(
        f"there must be a whole number from 1 to {most:,}", remedy="write MAKE_DATE(2026, 1, 31)"
    )


def _difference(t: Translator, node: exp.DateDiff) -> Expression:
    """``DATE_DIFF('month', a, b)``: how many months begin after a, up to b; weeks are whole."""
    only(node, "this", "expression", "unit", "zone", "big_int", "date_part_boundary")
    first, last = _as_day(t, node.expression), _as_day(t, node.this)
    unit = node.args["unit"].name.lower() if node.args.get("unit") is not None else "day"
    days = Call("days_between", (first, last))
    if unit == "day":
        return days
    if unit == "week":
        weeks = Arithmetic("/", days, Constant(7, "integer"))
        before = Comparison("<", days, Constant(0, "integer"))
        return Case(((before, Call("ceil", (weeks,))),), Call("floor", (weeks,)))
    if unit not in {"month", "quarter", "year"}:
        raise RefusedQuery(
            f"DATE_DIFF does not support the unit {unit[:20].upper()}",
            remedy="count in 'day', 'week', 'month', 'quarter' or 'year'",
        )
    return Arithmetic("-", _place(unit, last), _place(unit, first))


def _place(unit: str, day: Expression) -> Expression:
    """How many of the unit there were since the year 0."""
    year = Call("year", (day,))
    if unit == "year":
        return year
    many = Constant(12 if unit == "month" else 4, "integer")
    return Arithmetic("+", Arithmetic("*", year, many), Call(unit, (day,)))


def _as_day(t: Translator, node: exp.Expr) -> Expression:
    made = t.convert(node)
    if isinstance(made, Constant) and made.kind == "text" and made.value is not None:
        return as_date(made)
    return day_of(t, made)


def date_arithmetic(t: Translator, operator: str, node: exp.Binary) -> Expression | None:
    """``date + interval``, ``date - date`` and ``date + 7``; None if it is about numbers."""
    left, right = node.left, node.right
    if type(left).__name__ == "Interval" and operator == "+":
        left, right = right, left
    if type(right).__name__ == "Interval":
        return _shifted(t, t.convert(left), right, 1 if operator == "+" else -1)
    sides = t.convert(left), t.convert(right)
    kinds = [t.analysis.kind(side) for side in sides]
    if "timestamp" in kinds:
        raise RefusedQuery(
            "arithmetic with times is not supported",
            remedy="write DATE_DIFF('day', a, b), or CAST(x AS DATE) + INTERVAL 3 DAY",
        )
    if "date" not in kinds:
        return None
    if operator == "-":
        sides = _as_day(t, left), _as_day(t, right)
        if t.analysis.kind(sides[0]) == t.analysis.kind(sides[1]) == "date":
            return Call("days_between", (sides[1], sides[0]))
    if kinds[0] != "date" and operator == "+":
        sides, kinds = (sides[1], sides[0]), [kinds[1], kinds[0]]
    if kinds != ["date", "integer"]:
        raise RefusedQuery(
            "date arithmetic is supported with whole numbers of days and intervals only",
            remedy="write x + INTERVAL 3 MONTH, x + 7, or DATE_DIFF('day', a, b)",
        )
    return Call("add_days", (sides[0], sides[1] if operator == "+" else _negated(sides[1])))


def _negated(count: Expression) -> Expression:
    if isinstance(count, Constant) and isinstance(count.value, int):
        return Constant(-count.value, "integer")
    return Arithmetic("-", Constant(0, "integer"), count)


def _shifted(t: Translator, day: Expression, interval: Any, sign: int) -> Expression:
    """The date so many days or months later."""
    only(interval, "this", "unit")
    unit = interval.args["unit"].name.lower() if interval.args.get("unit") is not None else "day"
    unit = unit.removesuffix("s")
    if unit not in _STEPS:
        raise RefusedQuery(
            f"an interval of {unit[:20].upper()} cannot be added to a date",
            remedy="write INTERVAL 3 DAY, or WEEK, MONTH, QUARTER, YEAR",
        )
    function, times = _STEPS[unit]
    return Call(function, (day, _times(_length(t, interval.this), times * sign)))


def _times(count: Expression, factor: int) -> Expression:
    if isinstance(count, Constant) and isinstance(count.value, int):
        return Constant(count.value * factor, "integer")
    return count if factor == 1 else Arithmetic("*", count, Constant(factor, "integer"))


def _length(t: Translator, node: Any) -> Expression:
    """How long an interval is: a constant, or a whole number in brackets."""
    if type(node).__name__ == "Literal" and node.is_string:
        text = str(node.this).strip()
        sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
        if digits.isascii() and digits.isdigit() and int(digits[:9]) <= _LONGEST_SHIFT:
            return Constant(sign * int(digits[:9]), "integer")
        raise RefusedQuery(
            "an interval must be a whole number of one unit", remedy="write INTERVAL 3 MONTH"
        )
    made = t.convert(node)
    if t.analysis.kind(made) != "integer":
        raise RefusedQuery(
            "an interval must be a whole number of one unit", remedy="write INTERVAL (n) DAY"
        )
    return made


def _added(sign: int) -> Callable[[Translator, Any], Expression]:
    """``DATE_ADD(x, INTERVAL 3 DAY)``."""

    def rule(t: Translator, node: Any) -> Expression:
        only(node, "this", "expression", "unit")
        if type(node.expression).__name__ == "Interval":
            return _shifted(t, t.convert(node.this), node.expression, sign)
        raise refused(node)

    return rule


def _formatted(t: Translator, node: exp.TimeToStr) -> Expression:
    """``STRFTIME(x, '%Y-%m')``: the beginning of the date as it is written."""
    only(node, "this", "format")
    form = t.convert(node.args["format"])
    size = _FORMATS.get(str(form.value)) if isinstance(form, Constant) else None
    if size is None:
        raise RefusedQuery(
            "dates are written as '%Y', '%Y-%m' or '%Y-%m-%d'",
            remedy="write STRFTIME(x, '%Y-%m'), or group by MONTH(x)",
        )
    written = Cast(day_of(t, t.convert(node.this)), "text")
    return Call("substring", (written, Constant(1, "integer"), Constant(size, "integer")))


DATES: dict[str, Callable[[Any, Any], Expression]] = {
    "Year": _date_part("year"),
    "Quarter": _date_part("quarter"),
    "Month": _date_part("month"),
    "Day": _date_part("day"),
    "DayOfMonth": _date_part("day"),
    "Week": _date_part("week"),
    "WeekOfYear": _date_part("week"),
    "DayOfWeek": _date_part("dow"),
    "DayOfWeekIso": _date_part("isodow"),
    "DayOfYear": _date_part("doy"),
    "Hour": _date_part("hour"),
    "Minute": _date_part("minute"),
    "Second": _date_part("second"),
    "Extract": _extract,
    "DateFromParts": _made,
    "TimestampTrunc": _truncated,
    "DateTrunc": _truncated,
    "DateDiff": _difference,
    "DateAdd": _added(1),
    "DateSub": _added(-1),
    "TimeToStr": _formatted,
}
