"""Functions that every engine has under one name, but ibis does not offer as they are."""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["builtin"]

_SIGNATURES: dict[str, tuple[tuple[str, ...], str]] = {
    "md5": (("string",), "string"),
    "convert_to": (("string", "string"), "string"),
    # A float in DuckDB and PostgreSQL, a long in Spark: never to be used without a cast.
    "floor": (("float64",), "int64"),
}


@cache
def builtin(name: str) -> Any:
    """The engine's own function of that name."""
    import ibis

    arguments, _ = signature = _SIGNATURES[name]
    declared = _two if len(arguments) == 2 else _one
    return ibis.udf.scalar.builtin(declared, name=name, signature=signature)


def _one(first: Any) -> None:
    """Never called: the engine does it."""


def _two(first: Any, second: Any) -> None:
    """Never called: the engine does it."""
