"""The events of dp-accounting, or how to get it; and events as it prints them, read back."""

from __future__ import annotations

import ast
from typing import Any

from quaestor.errors import InvalidParameter, MissingExtra

try:
    from dp_accounting import dp_event, privacy_accountant
except ImportError as missing:
    raise MissingExtra(
        "dp-accounting", extra="interop", purpose="reading and writing its events"
    ) from missing

__all__ = ["Relation", "dp_event", "event_from_text", "privacy_accountant"]

Relation = privacy_accountant.NeighboringRelation

_LONGEST = 100_000
_EVENTS: dict[str, Any] = {
    name: kind
    for name, kind in vars(dp_event).items()
    if isinstance(kind, type)
    and issubclass(kind, dp_event.DpEvent)
    and kind is not dp_event.DpEvent
}


def event_from_text(text: str) -> Any:
    """The event that this text, ``repr(event)``, stands for; parsed, never evaluated.

    >>> event_from_text("SelfComposedDpEvent(event=GaussianDpEvent(noise_multiplier=2.0), count=3)")
    SelfComposedDpEvent(event=GaussianDpEvent(noise_multiplier=2.0), count=3)
    """
    if len(text) > _LONGEST:
        raise InvalidParameter("event", text, f"text of at most {_LONGEST} characters")
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except InvalidParameter:
        raise
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
        raise InvalidParameter("event", text, "an event as dp-accounting prints it") from None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part) for part in parts]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            kind = _EVENTS.get(name)
            if kind is None:
                raise InvalidParameter("event", name, f"one of {', '.join(sorted(_EVENTS))}")
            given = {str(keyword.arg): _value(keyword.value) for keyword in keywords}
            return kind(*map(_value, args), **given)
        case _:
            raise InvalidParameter("event", ast.unparse(node), "made of events and numbers")
