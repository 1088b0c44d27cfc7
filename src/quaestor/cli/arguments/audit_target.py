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
    text: str, neighbours: tuple[str, str] | None, rounds: int
) -> tuple[Any, tuple[Any, Any], Any, int]:
    """What is attacked, on which databases, what is known of it, and in how many rounds."""
    if ":" in text:
        if neighbours is None:
            raise InvalidParameter(
                "neighbours",
                neighbours,
                "given: --neighbours A B, two databases that differ in one person",
            )
        first, second = neighbours
        return _named(text), (_database(first), _database(second)), None, rounds
    single, count = parse_release(text).counted()
    mechanism, times = mechanism_for(single), rounds * count
    databases = mechanism.neighbours
    if neighbours is not None:
        databases = (_database(neighbours[0]), _database(neighbours[1]))
    return mechanism, databases, compose(mechanism.loss * times), times


def _named(text: str) -> Any:
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
        raise InvalidParameter("target", text, valid) from None
    return found


def _database(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        if ":" in text:
            return _named(text)
        raise InvalidParameter("neighbours", text, "Python literals, or module:name") from None
