"""The value of an expression, computed slowly and obviously: what every engine must agree with.

Used for what is computed from released values (outputs, HAVING, ORDER BY), for the possible values
of a grouping key, and as the oracle that engines are tested against.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

from quaestor.curator.language.expressions import (
    Aggregated,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Keyed,
    Like,
    Logic,
    Member,
    Not,
)
from quaestor.curator.language.functions import (
    FUNCTIONS,
    SMALLEST_DIVISOR,
    TEXT_DATE,
    TEXT_NUMBER,
    TEXT_TIME,
    divided,
    rounded,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quaestor.curator.language.expressions import Kind, Value

__all__ = ["evaluate", "matches"]

_EXACT = 2**53


def evaluate(  # noqa: C901  # see below
    expression: Expression,
    keys: Sequence[Value] = (),
    aggregates: Sequence[Value] = (),
    columns: Mapping[str, Value] | None = None,
) -> Value:
    """The value, given those of keys, released aggregates and columns; never an error.

    >>> from quaestor.curator.language.expressions import Aggregated, Arithmetic
    >>> share = Arithmetic("/", Aggregated(0), Aggregated(1))
    >>> evaluate(share, aggregates=[30, 120])
    0.25
    >>> evaluate(share, aggregates=[30, 0]) is None
    True
    """

    def value(node: Expression) -> Value:  # noqa: C901, PLR0911, PLR0912  # one line a kind
        match node:
            case Constant():
                return node.value
            case Column():
                return (columns or {})[node.name]
            case Keyed():
                return keys[node.place]
            case Aggregated():
                return _plain(aggregates[node.place])
            case Arithmetic():
                return _arithmetic(node.operator, value(node.left), value(node.right))
            case Comparison():
                return _comparison(node.operator, value(node.left), value(node.right))
            case Logic():
                return _logic(node.operator, [value(operand) for operand in node.operands])
            case Not():
                operand = value(node.operand)
                return None if operand is None else not operand
            case IsNull():
                return value(node.operand) is None
            case Member():
                operand = value(node.operand)
                return None if operand is None else operand in {c.value for c in node.values}
            case Like():
                operand = value(node.operand)
                return None if operand is None else matches(str(operand), node.pattern)
            case Case():
                chosen = (then for when, then in node.branches if value(when) is True)
                return value(next(chosen, node.otherwise))
            case Cast():
                return _cast(value(node.operand), node.kind)
            case Call():
                return _call(node.function, [value(argument) for argument in node.arguments])
            case _:
                raise TypeError(type(node).__name__)

    return value(expression)


def _plain(number: Any) -> Value:
    """A number that is one: neither infinite nor NaN, and whole as ``int`` where it was."""
    if isinstance(number, float) and not math.isfinite(number):
        return None
    if isinstance(number, int) and not isinstance(number, bool) and abs(number) > _EXACT:
        return float(number) if abs(number) < 10**300 else None
    return number  # type: ignore[no-any-return]  # a value in, a value out


def _arithmetic(operator: str, left: Any, right: Any) -> Value:  # noqa: PLR0911
    if left is None or right is None:
        return None
    try:
        match operator:
            case "+":
                return _plain(left + right)
            case "-":
                return _plain(left - right)
            case "*":
                return _plain(left * right)
            case "/":
                return _plain(divided(left, right))
            case _:
                return None if right == 0 else _plain(_remainder(left, right))
    except OverflowError:
        return None


def _remainder(left: float, right: float) -> float:
    """With the sign of the dividend."""
    whole = isinstance(left, int) and isinstance(right, int)
    remainder = math.fmod(left, right)
    return int(remainder) if whole else remainder


def _comparison(operator: str, left: Any, right: Any) -> Value:
    if left is None or right is None:
        return None
    outcome: bool
    match operator:
        case "=":
            outcome = left == right
        case "<>":
            outcome = left != right
        case "<":
            outcome = left < right
        case "<=":
            outcome = left <= right
        case ">":
            outcome = left > right
        case _:
            outcome = left >= right
    return outcome


def _logic(operator: str, operands: list[Value]) -> Value:
    decisive = operator == "or"
    if any(operand is decisive for operand in operands):
        return decisive
    return None if any(operand is None for operand in operands) else not decisive


def _cast(value: Any, kind: Kind) -> Value:  # one line a pair of kinds
    if value is None:
        return None
    if isinstance(value, str):
        return _from_text(value, kind)
    if kind == "boolean":
        return bool(value)
    if kind == "integer":
        return rounded(min(max(value, -_EXACT), _EXACT))
    if kind == "real":
        return float(value)
    return str(value).lower() if isinstance(value, bool | int) else None


def _from_text(text: str, kind: Kind) -> Value:
    """Also from dates, which are texts here."""
    match kind:
        case "text":
            return text
        case "date":
            return text if _is_date(text) else None
        case "timestamp":
            return _time(text)
        case "boolean":
            truths = {"true": True, "false": False}
            usual = text in {text.lower(), text.upper(), text.capitalize()}
            return truths.get(text.lower()) if usual else None
        case _:
            if not TEXT_NUMBER.fullmatch(text):
                return None
            number = min(max(float(text), -float(_EXACT)), float(_EXACT))
            number = 0.0 if abs(number) < SMALLEST_DIVISOR else number
            return rounded(number) if kind == "integer" else number


def _time(text: str) -> str | None:
    try:
        known = TEXT_TIME.fullmatch(text) and dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return known.isoformat(sep=" ") if known else None


def _is_date(text: str) -> bool:
    try:
        return bool(TEXT_DATE.fullmatch(text) and dt.date.fromisoformat(text))
    except ValueError:
        return False


def _call(function: str, arguments: list[Any]) -> Value:
    rule = FUNCTIONS[function]
    if not rule.nulls and any(argument is None for argument in arguments):
        return None
    try:
        return _plain(rule.apply(*arguments))
    except OverflowError:
        return None


def matches(text: str, pattern: str) -> bool:
    """Whether the text is as the pattern says: ``%`` is any text, ``_`` any character.

    Takes at most as many steps as the product of both lengths.
    """
    at = place = 0
    wild, resumed = -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == "%":
            wild, resumed = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in {"_", text[at]}:
            at, place = at + 1, place + 1
        elif wild >= 0:
            resumed += 1
            at, place = resumed, wild + 1
        else:
            return False
    return set(pattern[place:]) <= {"%"}
