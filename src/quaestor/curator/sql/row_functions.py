"""Rules for functions of one row. What SQL spells in several ways becomes one function here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.analysis.facts import alike, as_date
from quaestor.curator.language.expressions import (
    Arithmetic,
    Call,
    Case,
    Comparison,
    Constant,
    Expression,
)
from quaestor.curator.sql.translator import only, refused
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from quaestor.curator.sql.translator import Translator

__all__ = ["CALLS"]

_MOST_BUCKETS = 10_000
_HIGHEST_POWER = 8
_MOST_DECIMALS = 9


def _one(name: str) -> Callable[[Translator, Any], Expression]:
    def rule(t: Translator, node: exp.Func) -> Expression:
        only(node, "this")
        return Call(name, (t.convert(node.this),))

    return rule


def _several(name: str) -> Callable[[Translator, Any], Expression]:
    def rule(t: Translator, node: exp.Func) -> Expression:
        only(node, "this", "expressions", "expression", "ignore_nulls")
        more = node.expressions or [node.expression] * bool(node.args.get("expression"))
        arguments = [t.convert(part) for part in (node.this, *more)]
        return Call(name, tuple(alike(t.analysis, *arguments)))

    return rule


def _round(t: Translator, node: exp.Round) -> Expression:
    """``ROUND(x, 2)`` is ``ROUND(x * 100) / 100``."""
    only(node, "this", "decimals")
    operand = t.convert(node.this)
    if node.args.get("decimals") is None:
        return Call("round", (operand,))
    decimals = _whole(t, node.args["decimals"], "ROUND(x, 2)", -_MOST_DECIMALS, _MOST_DECIMALS)
    scale = Constant(10 ** abs(decimals), "integer")
    if decimals < 0:
        return Arithmetic("*", Call("round", (Arithmetic("/", operand, scale),)), scale)
    return Arithmetic("/", Call("round", (Arithmetic("*", operand, scale),)), scale)


def _logarithm(t: Translator, node: exp.Log) -> Expression:
    only(node, "this", "expression")
    if node.args.get("expression") is None:
        raise refused(node)
    base = t.convert(node.this)
    if not isinstance(base, Constant) or base.value != 10:
        raise refused(node)
    return Call("log10", (t.convert(node.expression),))


def _power(t: Translator, node: exp.Pow) -> Expression:
    """``POW(x, 3)`` is ``x * x * x``."""
    only(node, "this", "expression")
    operand = t.convert(node.this)
    power = _whole(t, node.expression, "POW(x, 2)", 1, _HIGHEST_POWER)
    made = operand
    for _ in range(power - 1):
        made = Arithmetic("*", made, operand)
    return made


def _bucket(t: Translator, node: exp.WidthBucket) -> Expression:
    """0 below the bounds, then 1 to n, and n + 1 from the upper bound on."""
    only(node, "this", "min_value", "max_value", "num_buckets")
    operand = t.convert(node.this)
    low, high = t.convert(node.args["min_value"]), t.convert(node.args["max_value"])
    count = _whole(t, node.args["num_buckets"], "WIDTH_BUCKET(x, 0, 100, 10)", 1, _MOST_BUCKETS)
    ends = [
        float(end.value)
        for end in (low, high)
        if isinstance(end, Constant) and isinstance(end.value, int | float)
    ]
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise RefusedQuery(
            "WIDTH_BUCKET takes constant bounds, the lower one first",
            remedy="write WIDTH_BUCKET(x, 0, 100, 10)",
        )
    held = Call("clamp", (operand, low, high))
    width = Constant((ends[1] - ends[0]) / count, "real")
    inside = Call("floor", (Arithmetic("/", Arithmetic("-", held, low), width),))
    bucket = Call("least", (inside, Constant(count - 1, "integer")))
    within = Arithmetic("+", bucket, Constant(1, "integer"))
    ends_first = (
        (Comparison("<", operand, low), Constant(0, "integer")),
        (Comparison(">=", operand, high), Constant(count + 1, "integer")),
    )
    if not t.analysis.facts(operand).nullable:
        return Case(ends_first, within)
    return Case((*ends_first, (Comparison("<", operand, high), within)), Constant(None, "integer"))


def _substring(t: Translator, node: exp.Substring) -> Expression:
    only(node, "this", "start", "length")
    if node.args.get("length") is None or node.args.get("start") is None:
        raise RefusedQuery("SUBSTRING needs a length", remedy="write SUBSTRING(x, 1, 3)")
    start = _whole(t, node.args["start"], "SUBSTRING(x, 1, 3)", 1, 10_000)
    count = _whole(t, node.args["length"], "SUBSTRING(x, 1, 3)", 1, 10_000)
    places = (Constant(start, "integer"), Constant(count, "integer"))
    return Call("substring", (t.convert(node.this), *places))


def _part(t: Translator, name: str, operand: exp.Expr) -> Expression:
    if name not in {"year", "quarter", "month", "day", "dow"}:
        raise RefusedQuery(
            f"{name.upper()[:20]} of a date is not taken alike on every engine",
            remedy="take YEAR(x), QUARTER(x), MONTH(x), DAY(x) or DAYOFWEEK(x)",
        )
    return Call(name, (t.convert(operand),))


def _extract(t: Translator, node: exp.Extract) -> Expression:
    only(node, "this", "expression")
    return _part(t, node.name.lower(), node.expression)


def _date_part(name: str) -> Callable[[Translator, Any], Expression]:
    def rule(t: Translator, node: exp.Func) -> Expression:
        only(node, "this")
        return _part(t, name, node.this)

    return rule


def _truncated(t: Translator, node: exp.TimestampTrunc) -> Expression:
    only(node, "this", "unit")
    unit = node.args["unit"].name.lower()
    if unit not in {"month", "year"}:
        raise RefusedQuery(
            f"dates are not cut to the {unit[:20]}",
            remedy="write DATE_TRUNC('month', x) or DATE_TRUNC('year', x)",
        )
    return Call(f"first_of_{unit}", (t.convert(node.this),))


def _date(t: Translator, node: exp.DateFromParts) -> Expression:
    only(node, "year", "month", "day")
    parts = [
        _whole(t, node.args[name], "MAKE_DATE(2026, 1, 31)", 1, most)
        for name, most in (("year", 9999), ("month", 12), ("day", 31))
    ]
    return as_date(Constant("{:04}-{:02}-{:02}".format(*parts), "text"))


def _other(t: Translator, node: exp.Anonymous) -> Expression:
    """Functions that the dialect has no word for."""
    if str(node.this).lower() == "clamp":
        return Call("clamp", tuple(t.convert(part) for part in node.expressions))
    raise refused(node)


def _whole(t: Translator, node: exp.Expr, example: str, low: int, high: int) -> int:
    made = t.convert(node)
    value = made.value if isinstance(made, Constant) and made.kind == "integer" else None
    if isinstance(value, int) and low <= value <= high:
        return value
    raise RefusedQuery(
        f"there must be a whole number from {low} to {high:,}", remedy=f"write {example}"
    )


CALLS: dict[str, Callable[[Any, Any], Expression]] = {
    "Abs": _one("abs"),
    "Sign": _one("sign"),
    "Floor": _one("floor"),
    "Ceil": _one("ceil"),
    "Round": _round,
    "Sqrt": _one("sqrt"),
    "Ln": _one("ln"),
    "Log": _logarithm,
    "Exp": _one("exp"),
    "Pow": _power,
    "Least": _several("least"),
    "Greatest": _several("greatest"),
    "Coalesce": _several("coalesce"),
    "Nullif": _several("nullif"),
    "Upper": _one("upper"),
    "Lower": _one("lower"),
    "Length": _one("length"),
    "Substring": _substring,
    "WidthBucket": _bucket,
    "Year": _date_part("year"),
    "Quarter": _date_part("quarter"),
    "Month": _date_part("month"),
    "Day": _date_part("day"),
    "DayOfWeek": _date_part("dow"),
    "Extract": _extract,
    "DateFromParts": _date,
    "TimestampTrunc": _truncated,
    "DateTrunc": _truncated,
    "Anonymous": _other,
}
