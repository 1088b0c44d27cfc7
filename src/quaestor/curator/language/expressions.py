"""What may be computed of one row: a small language with an answer for every row, on every engine.

An expression never fails. Numbers are 64-bit floats; integers are those that floats hold exactly.
Whatever has no value (a division by zero, the logarithm of a negative number, text that is not a
number, NaN) is NULL. Expressions are values: frozen, hashable, equal when they say the same; they
are walked by :func:`children` and :func:`nodes`, and :func:`spell` writes them as SQL.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "Aggregated",
    "Arithmetic",
    "Call",
    "Case",
    "Cast",
    "Column",
    "Comparison",
    "Constant",
    "Expression",
    "GroupTotal",
    "IsNull",
    "Keyed",
    "Kind",
    "Like",
    "Logic",
    "Member",
    "Not",
    "Value",
    "children",
    "columns_in",
    "nodes",
    "spell",
    "spell_constant",
    "with_children",
]

Kind = Literal["integer", "real", "text", "boolean", "date", "timestamp"]
Value = int | float | str | bool | None
"""A constant; dates are texts such as ``2026-11-16``, under the kind ``date``.

Times are in UTC, and texts such as ``2026-11-16 08:30:00``, under the kind ``timestamp``, with six
decimals of a second or none: their order is that of the texts.
"""


class Expression:
    """Something that has one value in every row."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Column(Expression):
    """A column of the relation below, by the name it has there."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """A value that the analyst wrote."""

    value: Value
    kind: Kind


@dataclass(frozen=True, slots=True)
class Arithmetic(Expression):
    """``+ - * /`` and ``%`` of two numbers; NULL where there is no such number."""

    operator: Literal["+", "-", "*", "/", "%"]
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Comparison(Expression):
    """``= <> < <= > >=`` of two values of one kind; NULL if one of them is."""

    operator: Literal["=", "<>", "<", "<=", ">", ">="]
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logic(Expression):
    """``and`` and ``or`` of several conditions, with SQL's three values."""

    operator: Literal["and", "or"]
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """The opposite of a condition."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class IsNull(Expression):
    """Whether there is no value."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Member(Expression):
    """Whether a value is one of some constants."""

    operand: Expression
    values: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Like(Expression):
    """Whether a text matches a pattern of ``%`` and ``_``; there are no regular expressions."""

    operand: Expression
    pattern: str


@dataclass(frozen=True, slots=True)
class Case(Expression):
    """The value of the first branch whose condition is true."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    """The value as another kind; NULL where it has none there."""

    operand: Expression
    kind: Kind


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """One of the functions of the language, see ``quaestor.curator.language.functions``."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Keyed(Expression):
    """In outputs and HAVING: the value of a grouping key, by its place."""

    place: int


@dataclass(frozen=True, slots=True)
class Aggregated(Expression):
    """In outputs and HAVING: the released value of an aggregate, by its place."""

    place: int


@dataclass(frozen=True, slots=True)
class GroupTotal(Expression):
    """In outputs: a released number added up over the groups of the answer.

    Over all groups that HAVING keeps or, with ``by``, over those that agree on these keys.
    """

    operand: Expression
    by: tuple[int, ...] = ()


def children(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside; none in columns, constants and released values."""
    match expression:
        case Arithmetic() | Comparison():
            return (expression.left, expression.right)
        case Logic():
            return expression.operands
        case Not() | IsNull() | Like() | Cast() | Member() | GroupTotal():
            return (expression.operand,)
        case Case():
            branches = tuple(part for branch in expression.branches for part in branch)
            return (*branches, expression.otherwise)
        case Call():
            return expression.arguments
        case _:
            return ()


def with_children(expression: Expression, inside: Sequence[Expression]) -> Expression:
    """The same operation on other expressions, in the order of :func:`children`."""
    match expression:
        case Arithmetic() | Comparison():
            return replace(expression, left=inside[0], right=inside[1])
        case Logic():
            return replace(expression, operands=tuple(inside))
        case Not() | IsNull() | Like() | Cast() | Member() | GroupTotal():
            return replace(expression, operand=inside[0])
        case Case():
            pairs = zip(inside[:-1:2], inside[1:-1:2], strict=True)
            return Case(tuple(pairs), inside[-1])
        case Call():
            return replace(expression, arguments=tuple(inside))
        case _:
            return expression


def nodes(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it."""
    waiting = [expression]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(children(found))


def columns_in(expression: Expression) -> frozenset[str]:
    """The names of the columns that it reads."""
    return frozenset(node.name for node in nodes(expression) if isinstance(node, Column))


_FEW = 5
_SPELLED = {
    "concat": "{} || {}",
    "dow": "DAYOFWEEK({})",
    "doy": "DAYOFYEAR({})",
    "days_between": "DATE_DIFF('day', {}, {})",
    "add_days": "{} + INTERVAL ({}) DAY",
    "add_months": "{} + INTERVAL ({}) MONTH",
    **{
        f"first_of_{unit}": f"DATE_TRUNC('{unit}', {{}})"
        for unit in ("week", "month", "quarter", "year")
    },
}
"""How SQL writes functions whose names are the language's own."""


def spell_constant(constant: Constant) -> str:
    """A constant as SQL has it."""
    value = constant.value
    if value is None or isinstance(value, bool):
        return str(value).upper() if value is not None else "NULL"
    if isinstance(value, str):
        quoted = "'" + value.replace("'", "''") + "'"
        word = {"date": "DATE ", "timestamp": "TIMESTAMP "}.get(constant.kind, "")
        return word + quoted
    return repr(value)


def spell(  # noqa: C901  # see below
    expression: Expression, *, keys: Sequence[str] = (), aggregates: Sequence[str] = ()
) -> str:
    """The expression in SQL; ``keys`` and ``aggregates`` are the words for released values."""

    def inside(node: Expression) -> str:
        text = words(node)
        return f"({text})" if isinstance(node, Arithmetic | Comparison | Logic | Not) else text

    def words(node: Expression) -> str:  # noqa: C901, PLR0911, PLR0912  # one line a kind
        match node:
            case Column():
                return node.name
            case Constant():
                return spell_constant(node)
            case Keyed():
                return keys[node.place] if node.place < len(keys) else f"key {node.place + 1}"
            case Aggregated():
                known = node.place < len(aggregates)
                return aggregates[node.place] if known else f"aggregate {node.place + 1}"
            case GroupTotal():
                by = ", ".join(words(Keyed(place)) for place in node.by)
                within = f"PARTITION BY {by}" if node.by else ""
                return f"SUM({words(node.operand)}) OVER ({within})"
            case Arithmetic() | Comparison():
                return f"{inside(node.left)} {node.operator} {inside(node.right)}"
            case Logic():
                return f" {node.operator.upper()} ".join(inside(part) for part in node.operands)
            case Not():
                return f"NOT {inside(node.operand)}"
            case IsNull():
                return f"{inside(node.operand)} IS NULL"
            case Member():
                shown = [spell_constant(value) for value in node.values[:_FEW]]
                more = ["..."] if len(node.values) > _FEW else []
                return f"{inside(node.operand)} IN ({', '.join(shown + more)})"
            case Like():
                return (
                    f"{inside(node.operand)} LIKE {spell_constant(Constant(node.pattern, 'text'))}"
                )
            case Case():
                branches = " ".join(f"WHEN {words(w)} THEN {words(t)}" for w, t in node.branches)
                return f"CASE {branches} ELSE {words(node.otherwise)} END"
            case Cast():
                return f"CAST({words(node.operand)} AS {node.kind.upper()})"
            case Call():
                parts = [words(argument) for argument in node.arguments]
                usual = f"{node.function.upper()}({', '.join(parts)})"
                template = _SPELLED.get(node.function)
                return usual if template is None else template.format(*parts)
            case _:
                return type(node).__name__

    return words(expression)
