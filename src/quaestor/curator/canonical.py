"""Queries as JSON, and the fingerprint that is the same for the same question in other words."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, cast

from quaestor.curator import query
from quaestor.curator.language import expressions
from quaestor.curator.language.expressions import Arithmetic, Comparison, Expression, Logic, Member
from quaestor.curator.query import Filtered
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.curator.query import Query

__all__ = ["canonical_json", "fingerprint", "from_dict", "to_dict"]

_CLASSES: dict[str, Any] = {
    name: getattr(module, name)
    for module in (expressions, query)
    for name in module.__all__
    if is_dataclass(getattr(module, name))
}
_MIRRORED: dict[str, str] = {">": "<", ">=": "<="}


def to_dict(query: Query) -> dict[str, Any]:
    """Everything that a query says, as JSON values: ``{"is": "Query", ...}``."""
    return cast("dict[str, Any]", _encoded(query))


def from_dict(data: dict[str, Any]) -> Query:
    """The query that :func:`to_dict` wrote."""
    try:
        made = _decoded(data)
    except (TypeError, KeyError, AttributeError) as error:
        raise InvalidParameter("query", data, "what to_dict wrote") from error
    if type(made).__name__ != "Query":
        raise InvalidParameter("query", data, "what to_dict wrote")
    return cast("Query", made)


def canonical_json(query: Query) -> str:
    """One text for all ways to write a question that surely mean the same.

    Conditions joined by AND and OR are sorted, and so are the sides of ``+``, ``*``, ``=`` and
    ``<>``; ``a > b`` is ``b < a``; one filter after another is one filter.
    """
    return _text(_encoded(_normal(query)))


def fingerprint(query: Query) -> str:
    """SHA-256 of the canonical text, in hexadecimal."""
    return hashlib.sha256(canonical_json(query).encode()).hexdigest()


def _text(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _encoded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_encoded(part) for part in value]
    if is_dataclass(value):
        inner = {field.name: _encoded(getattr(value, field.name)) for field in fields(value)}
        return {"is": type(value).__name__, **inner}
    return value


def _decoded(data: Any) -> Any:
    if isinstance(data, list):
        return tuple(_decoded(part) for part in data)
    if isinstance(data, dict):
        inner = {name: _decoded(part) for name, part in data.items() if name != "is"}
        return _CLASSES[data["is"]](**inner)
    return data


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
    return tuple(sorted(parts, key=lambda part: _text(_encoded(part))))
