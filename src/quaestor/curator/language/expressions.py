"""What may be computed of one row: a small language with an answer for every row, on every engine.

An expression never fails. Numbers are 64-bit floats; integers are those that floats hold exactly.
Whatever has no value (a division by zero, the logarithm of a negative number, text that is not a
number, NaN) is NULL. Expressions are values: frozen, hashable, equal when they say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    "IsNull",
    "Keyed",
    "Kind",
    "Like",
    "Logic",
    "Member",
    "Not",
    "Value",
]

Kind = Literal["integer", "real", "text", "boolean", "date"]
Value = int | float | str | bool | None
"""A constant; dates are texts such as ``2026-11-16``, under the kind ``date``."""


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
