"""Rules for everything that has one value a row: names, constants, operators, conditions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.analysis.facts import LARGEST, alike, as_date, as_time
from quaestor.curator.language.evaluation import evaluate
from quaestor.curator.language.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Like,
    Logic,
    Member,
    Not,
)
from quaestor.curator.sql.dates import date_arithmetic
from quaestor.curator.sql.text import LONGEST_LIST
from quaestor.curator.sql.translator import only, refused
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from quaestor.curator.language.expressions import Kind
    from quaestor.curator.sql.translator import Translator

__all__ = ["SCALARS"]

_LONGEST_PATTERN = 1_000
_TYPES: dict[str, Kind] = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT"), "integer"),
    **dict.fromkeys(("DOUBLE", "FLOAT"), "real"),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR"), "text"),
    "BOOLEAN": "boolean",
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "DATETIME"), "timestamp"),
}


def _column(t: Translator, node: Any) -> Expression:
    only(node, "this", "table")
    if type(node.this).__name__ == "Star":
        raise refused(node.this)
    return t.column(node)


def _literal(_: Translator, node: exp.Literal) -> Expression:
    if node.is_string:
        return Constant(str(node.this), "text")
    text = str(node.this)
    whole = text.isascii() and text.isdigit() and len(text) <= 30
    number: int | float = int(text) if whole else float(text)
    if not abs(number) <= LARGEST:
        raise RefusedQuery(
            ("numbers above 10^15 are not supported, because floats cannot represent them exactly"),
            remedy="write a smaller number",
        )
    return Constant(number, "integer" if whole else "real")


def _null(_: Translator, __: exp.Null) -> Expression:
    return Constant(None, "text")


def _boolean(_: Translator, node: exp.Boolean) -> Expression:
    return Constant(bool(node.this), "boolean")


def _inside(t: Translator, node: exp.Paren) -> Expression:
    only(node, "this")
    return t.convert(node.this)


def _negative(t: Translator, node: exp.Neg) -> Expression:
    only(node, "this")
    operand = t.convert(node.this)
    if isinstance(operand, Constant) and isinstance(operand.value, int | float):
        return replace(operand, value=-operand.value)
    return Arithmetic("-", Constant(0, "integer"), operand)


def _arithmetic(operator: Any) -> Callable[[Translator, Any], Expression]:
    def rule(t: Translator, node: exp.Binary) -> Expression:
        if operator != "/":  # sqlglot notes the dialect's division there
            only(node, "this", "expression")
        if operator in {"+", "-"}:
            dated = date_arithmetic(t, operator, node)
            if dated is not None:
                return dated
        return Arithmetic(operator, t.convert(node.left), t.convert(node.right))

    return rule


def _comparison(operator: Any) -> Callable[[Translator, Any], Expression]:
    def rule(t: Translator, node: exp.Binary) -> Expression:
        only(node, "this", "expression")
        left, right = alike(t.analysis, t.convert(node.left), t.convert(node.right))
        for side in (left, right):
            if isinstance(side, Constant) and side.value is None:
                raise RefusedQuery("comparisons with NULL are never true", remedy="write x IS NULL")
        return Comparison(operator, left, right)

    return rule


def _same(*, negated: bool) -> Callable[[Translator, Any], Expression]:
    """``IS [NOT] DISTINCT FROM``: NULL is the same as NULL, and as nothing else."""

    def rule(t: Translator, node: exp.Binary) -> Expression:
        only(node, "this", "expression")
        left, right = alike(t.analysis, t.convert(node.left), t.convert(node.right))
        neither = Logic("and", (IsNull(left), IsNull(right)))
        same = Call("coalesce", (Comparison("=", left, right), neither))
        return Not(same) if negated else same

    return rule


def _logic(operator: Any) -> Callable[[Translator, Any], Expression]:
    def rule(t: Translator, node: exp.Connector) -> Expression:
        parts: list[Expression] = []
        waiting: list[Any] = [node]
        while waiting:  # a chain of hundreds is not gone through by recursion
            part = waiting.pop()
            while type(part).__name__ == "Paren":
                part = part.this
            if type(part) is type(node):
                only(part, "this", "expression")
                waiting += [part.right, part.left]
            else:
                parts.append(t.convert(part))
        return Logic(operator, tuple(parts))

    return rule


def _not(t: Translator, node: exp.Not) -> Expression:
    only(node, "this")
    return Not(t.convert(node.this))


def _is(t: Translator, node: exp.Is) -> Expression:
    only(node, "this", "expression")
    operand, right = t.convert(node.this), t.convert(node.expression)
    if isinstance(right, Constant) and right.value is None:
        return IsNull(operand)
    if isinstance(right, Constant) and right.value is True:
        return Call("coalesce", (operand, Constant(value=False, kind="boolean")))
    if isinstance(right, Constant) and right.value is False:
        return Not(Call("coalesce", (operand, Constant(value=True, kind="boolean"))))
    raise RefusedQuery("IS is supported with NULL, TRUE and FALSE only", remedy="write a = b")


def _between(t: Translator, node: exp.Between) -> Expression:
    only(node, "this", "low", "high")
    operand = t.convert(node.this)
    left, low = alike(t.analysis, operand, t.convert(node.args["low"]))
    right, high = alike(t.analysis, operand, t.convert(node.args["high"]))
    return Logic("and", (Comparison(">=", left, low), Comparison("<=", right, high)))


def _in(t: Translator, node: exp.In) -> Expression:
    only(node, "this", "expressions")
    if len(node.expressions) > LONGEST_LIST:
        raise RefusedQuery(
            f"the list has more than {LONGEST_LIST:,} values",
            remedy="put them into a public table, and join it",
        )
    operand, values = t.convert(node.this), {}
    for entry in node.expressions:
        _, value = alike(t.analysis, operand, t.convert(entry))
        if not isinstance(value, Constant) or value.value is None:
            raise RefusedQuery(
                "IN supports constants only, without NULL",
                remedy="write conditions with OR, and x IS NULL",
            )
        values[repr(value)] = value
    if not values:
        raise RefusedQuery("the list after IN is empty", remedy="write IN ('a', 'b')")
    return Member(operand, tuple(value for _, value in sorted(values.items())))


def _like(t: Translator, node: exp.Like) -> Expression:
    only(node, "this", "expression", "negate")
    pattern = t.convert(node.expression)
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
        raise RefusedQuery("LIKE needs a constant pattern", remedy="write x LIKE 'a%'")
    if len(pattern.value) > _LONGEST_PATTERN:
        raise RefusedQuery(
            "a pattern has at most a thousand characters", remedy="use % for any text"
        )
    operand, wanted = t.convert(node.this), pattern.value
    if type(node).__name__ == "ILike":  # of the letters A to Z, as LOWER has it
        operand, wanted = Call("lower", (operand,)), str(evaluate(Call("lower", (pattern,))))
    made = Like(operand, wanted)
    if not node.args.get("negate"):
        return made
    t.analysis.facts(made)
    return Not(made)


def _case(t: Translator, node: exp.Case) -> Expression:
    only(node, "this", "ifs", "default")
    subject = t.convert(node.this) if node.this is not None else None
    branches = []
    for branch in node.args["ifs"]:
        only(branch, "this", "true")
        when = t.convert(branch.this)
        if subject is not None:
            when = Comparison("=", *alike(t.analysis, subject, when))
        branches.append((when, t.convert(branch.args["true"])))
    default = node.args.get("default")
    otherwise = t.convert(default) if default is not None else Constant(None, "text")
    *values, otherwise = alike(t.analysis, *(then for _, then in branches), otherwise)
    whens = [when for when, _ in branches]
    return Case(tuple(zip(whens, values, strict=True)), otherwise)


def _if(t: Translator, node: exp.If) -> Expression:
    only(node, "this", "true", "false")
    default = node.args.get("false")
    otherwise = t.convert(default) if default is not None else Constant(None, "text")
    when = t.convert(node.this)
    then, otherwise = alike(t.analysis, t.convert(node.args["true"]), otherwise)
    return Case(((when, then),), otherwise)


def _cast(t: Translator, node: exp.Cast) -> Expression:
    only(node, "this", "to", "safe", "_type")
    name = node.to.this.name if hasattr(node.to.this, "name") else str(node.to.this)
    kind = _TYPES.get(name)
    if kind is None or node.to.expressions:
        raise RefusedQuery(
            f"CAST to {node.to.sql().upper()[:40]} is not supported",
            remedy="cast to INTEGER, DOUBLE, BOOLEAN, DATE, TIMESTAMP, or write DATE '2026-01-31'",
        )
    operand = t.convert(node.this)
    if kind == "date" and isinstance(operand, Constant) and isinstance(operand.value, str):
        whole = operand.kind == "timestamp"
        return Constant(operand.value[:10], "date") if whole else as_date(operand)
    if kind == "timestamp" and isinstance(operand, Constant) and isinstance(operand.value, str):
        return as_time(operand)
    between = {("timestamp", "date"): "date_of", ("date", "timestamp"): "time_of"}
    if (t.analysis.kind(operand), kind) in between:
        return Call(between[t.analysis.kind(operand), kind], (operand,))
    return operand if t.analysis.kind(operand) == kind else Cast(operand, kind)


SCALARS: dict[str, Callable[[Any, Any], Expression]] = {
    "Column": _column,
    "Literal": _literal,
    "Null": _null,
    "Boolean": _boolean,
    "Paren": _inside,
    "Neg": _negative,
    "Add": _arithmetic("+"),
    "Sub": _arithmetic("-"),
    "Mul": _arithmetic("*"),
    "Div": _arithmetic("/"),
    "Mod": _arithmetic("%"),
    "EQ": _comparison("="),
    "NEQ": _comparison("<>"),
    "LT": _comparison("<"),
    "LTE": _comparison("<="),
    "GT": _comparison(">"),
    "GTE": _comparison(">="),
    "And": _logic("and"),
    "Or": _logic("or"),
    "Not": _not,
    "Is": _is,
    "Between": _between,
    "In": _in,
    "Like": _like,
    "ILike": _like,
    "NullSafeEQ": _same(negated=False),
    "NullSafeNEQ": _same(negated=True),
    "Case": _case,
    "If": _if,
    "Cast": _cast,
    "TryCast": _cast,
}
