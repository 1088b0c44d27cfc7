"""Rules for functions of one row. What SQL spells in several ways becomes one function here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.analysis.facts import alike
from quaestor.curator.language.expressions import (
    Arithmetic,
    Call,
    Case,
    Comparison,
    Constant,
    Expression,
    spell,
)
from quaestor.curator.sql.dates import DATES, named_part
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


def _left(t: Translator, node: exp.Left) -> Expression:
    """``LEFT(x, 3)`` is ``SUBSTRING(x, 1, 3)``."""
    only(node, "this", "expression")
    count = _whole(t, node.expression, "LEFT(x, 3)", 1, 10_000)
    places = (Constant(1, "integer"), Constant(count, "integer"))
    return Call("substring", (t.convert(node.this), *places))


def _trim(t: Translator, node: exp.Trim) -> Expression:
    only(node, "this", "position", "expression")
    taken = node.args.get("expression")
    if taken is not None and t.convert(taken) != Constant(" ", "text"):
        raise RefusedQuery("TRIM removes spaces only", remedy="write TRIM(x)")
    names = {"LEADING": "ltrim", "TRAILING": "rtrim"}
    return Call(names.get(str(node.args.get("position") or ""), "trim"), (t.convert(node.this),))


def _joined(t: Translator, node: exp.DPipe) -> Expression:
    """``a || b``: NULL if one of them is."""
    only(node, "this", "expression", "safe")
    return Call("concat", (t.convert(node.left), t.convert(node.right)))


def _concat(t: Translator, node: exp.Concat) -> Expression:
    """``CONCAT(a, b, c)`` passes over NULL."""
    only(node, "expressions", "safe", "coalesce")
    empty = Constant("", "text")
    parts = [Call("coalesce", (t.convert(part), empty)) for part in node.expressions]
    made: Expression = parts[0]
    for part in parts[1:]:
        made = Call("concat", (made, part))
    return made


def _truncate(t: Translator, operand: Expression) -> Expression:
    """Towards zero; bounds stay as narrow as those of the operand."""
    facts = t.analysis.facts(operand)
    down, up = Call("floor", (operand,)), Call("ceil", (operand,))
    if facts.low >= 0:
        return down
    return up if facts.high <= 0 else Case(((_negative(operand), up),), down)


def _negative(operand: Expression) -> Expression:
    return Comparison("<", operand, Constant(0, "integer"))


def _trunc(t: Translator, node: exp.Trunc) -> Expression:
    """``TRUNC(x, 2)`` is ``TRUNC(x * 100) / 100``."""
    only(node, "this", "decimals")
    operand = t.convert(node.this)
    if node.args.get("decimals") is None:
        return _truncate(t, operand)
    decimals = _whole(t, node.args["decimals"], "TRUNC(x, 2)", -_MOST_DECIMALS, _MOST_DECIMALS)
    scale = Constant(10 ** abs(decimals), "integer")
    there, back = ("*", "/") if decimals >= 0 else ("/", "*")
    inside = Arithmetic(there, operand, scale)  # type: ignore[arg-type]
    return Arithmetic(back, _truncate(t, inside), scale)  # type: ignore[arg-type]


def _whole_quotient(t: Translator, node: exp.IntDiv) -> Expression:
    """``a // b`` of whole numbers, towards zero."""
    only(node, "this", "expression")
    left, right = t.convert(node.left), t.convert(node.right)
    for side in (left, right):
        if t.analysis.kind(side) != "integer":
            raise RefusedQuery(
                f"a // b needs whole numbers, but {spell(side)} is not one",
                remedy="write FLOOR(a / b)",
            )
    made = _truncate(t, Arithmetic("/", left, right))
    mine, by = t.analysis.facts(left), t.analysis.facts(right)
    if t.analysis.facts(made).bounded or not mine.bounded:
        return made
    most = Constant(int(max(abs(mine.low), abs(mine.high))), "integer")  # no divisor is below 1
    least = Constant(0 if mine.low >= 0 and by.low >= 0 else -int(most.value or 0), "integer")
    return Call("clamp", (made, least, most))


def _other(t: Translator, node: exp.Anonymous) -> Expression:
    """Functions that the dialect has no word for."""
    name = str(node.this).lower()
    if name == "clamp":
        return Call("clamp", tuple(t.convert(part) for part in node.expressions))
    if name == "isoyear" and len(node.expressions) == 1:
        return named_part(t, name, node.expressions[0])
    if name in {"date_part", "datepart"} and len(node.expressions) == 2:
        return named_part(t, node.expressions[0].name.lower(), node.expressions[1])
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
    "Left": _left,
    "Trim": _trim,
    "DPipe": _joined,
    "Concat": _concat,
    "Trunc": _trunc,
    "IntDiv": _whole_quotient,
    "WidthBucket": _bucket,
    **DATES,
    "Anonymous": _other,
}
