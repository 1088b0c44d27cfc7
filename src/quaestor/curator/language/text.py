"""Expressions as a person would write them in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["spell", "spell_constant"]

_FEW = 5


def spell_constant(constant: Constant) -> str:
    """A constant as SQL has it."""
    value = constant.value
    if value is None or isinstance(value, bool):
        return str(value).upper() if value is not None else "NULL"
    if isinstance(value, str):
        quoted = "'" + value.replace("'", "''") + "'"
        return f"DATE {quoted}" if constant.kind == "date" else quoted
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
                arguments = ", ".join(words(argument) for argument in node.arguments)
                return f"{node.function.upper()}({arguments})"
            case _:
                return type(node).__name__

    return words(expression)
