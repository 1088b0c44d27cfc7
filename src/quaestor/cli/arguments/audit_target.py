"""What ``audit`` attacks, and on which databases: a release that is drawn, or a name to import."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

from quaestor.accounting.compose import compose
from quaestor.accounting.expressions import parse_release
from quaestor.errors import InvalidParameter
from quaestor.mechanisms import mechanism_for

__all__ = ["attacked_target"]


def attacked_target(
    text: str, neighbours: tuple[str, str] | None, space: str | None, rounds: int
) -> tuple[Any, Any, Any, int]:
    """What is attacked, on which databases, what is known of it, and in how many rounds."""
    if space is not None and neighbours is not None:
        raise InvalidParameter("search", space, "given without --neighbours")
    if ":" in text:
        if space is not None:
            return _named(text), _searched(space), None, rounds
        if neighbours is None:
            raise InvalidParameter(
                "neighbours",
                neighbours,
                "given: --neighbours A B, two databases that differ in one person, or --search",
            )
        first, second = neighbours
        return _named(text), (_database(first), _database(second)), None, rounds
    single, count = parse_release(text).counted()
    mechanism, times = mechanism_for(single), rounds * count
    databases: Any = mechanism.neighbours
    if space is not None:
        databases = _searched(space)
    if neighbours is not None:
        databases = (_database(neighbours[0]), _database(neighbours[1]))
    return mechanism, databases, compose(mechanism.loss * times), times


def _searched(text: str) -> Any:
    from quaestor.audit import Pairs, Search, search

    named = _named(text, "search")
    if isinstance(named, Search):
        return named
    if isinstance(named, Pairs):
        return search(named)
    raise InvalidParameter("search", text, "module:name of audit.Rows, Answers or search(...)")


def _named(text: str, option: str = "target") -> Any:
    """What ``module:name`` names, also in the directory one is in."""
    module, _, name = text.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as problem:
        valid = f"module:name of a Python object that can be imported ({problem})"
        raise InvalidParameter(option, text, valid) from None
    return found


def _database(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        if ":" in text:
            return _named(text)
        raise InvalidParameter("neighbours", text, "Python literals, or module:name") from None
