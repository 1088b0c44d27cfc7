"""Queries as JSON, and the fingerprint that is the same for the same question in other words."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import Any, cast

from quaestor.curator.language.expressions import Arithmetic, Comparison, Expression, Logic, Member
from quaestor.curator.language.query import Filtered, Query
from quaestor.curator.questions.wire import from_wire, to_wire
from quaestor.errors import InvalidParameter

__all__ = ["canonical_json", "fingerprint", "from_dict", "to_dict"]

_MIRRORED: dict[str, str] = {">": "<", ">=": "<="}


def to_dict(query: Query) -> dict[str, Any]:
    """Everything that a query says, as JSON values: ``{"is": "Query", ...}``."""
    return cast("dict[str, Any]", to_wire(query))


def from_dict(data: dict[str, Any]) -> Query:
    """The query that :func:`to_dict` wrote."""
    try:
        made = from_wire(data)
    except (TypeError, KeyError, AttributeError) as error:
        raise InvalidParameter("query", data, "what to_dict wrote") from error
    if not isinstance(made, Query):
        raise InvalidParameter("query", data, "what to_dict wrote")
    return made


def canonical_json(query: Query) -> str:
    """One text for all ways to write a question that surely mean the same.

    Conditions joined by AND and OR are sorted, and so are the sides of ``+``, ``*``, ``=`` and
    ``<>``; ``a > b`` is ``b < a``; one filter after another is one filter.
    """
    return _text(to_wire(_normal(query)))


def fingerprint(query: Query) -> str:
    """SHA-256 of the canonical text, in hexadecimal."""
    return hashlib.sha256(canonical_json(query).encode()).hexdigest()


def _text(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _normal(value: Any) -> Any:
    """The same from the leaves up, in normal form."""
    if isinstance(value, tuple):
        return tuple(_normal(part) for part in value)
    if not is_dataclass(value):
        return value
    inner = {field.name: _normal(getattr(value, field.name)) for field in fields(value)}
    kind: Any = type(value)
    return _sorted(kind(**inner))


def _sorted(value: Any) -> Any:  # noqa: PLR0911  # one line a law
    match value:
        case Logic():
            return _flat(value.operator, value.operands)
        case Comparison(operator=">" | ">="):
            return Comparison(cast("Any", _MIRRORED[value.operator]), value.right, value.left)
        case Comparison(operator="=" | "<>"):
            return Comparison(value.operator, *_in_order(value.left, value.right))
        case Arithmetic(operator="+" | "*"):
            return Arithmetic(value.operator, *_in_order(value.left, value.right))
        case Member():
            return Member(value.operand, _in_order(*value.values))
        case Filtered(rows=Filtered() as inside):
            both = _flat("and", (inside.condition, value.condition))
            return Filtered(inside.rows, both)
        case _:
            return value


def _flat(operator: Any, operands: tuple[Expression, ...]) -> Expression:
    parts: list[Expression] = []
    for operand in operands:
        same = isinstance(operand, Logic) and operand.operator == operator
        parts += operand.operands if same and isinstance(operand, Logic) else (operand,)
    ordered = _in_order(*dict.fromkeys(parts))
    return ordered[0] if len(ordered) == 1 else Logic(operator, ordered)


def _in_order(*parts: Any) -> tuple[Any, ...]:
    return tuple(sorted(parts, key=lambda part: _text(to_wire(part))))
