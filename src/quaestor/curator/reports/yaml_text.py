"""YAML for a few plain values: mappings, lists, numbers, and texts that keep their lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["yaml_text"]


def yaml_text(value: Mapping[str, Any]) -> str:
    """A document of block mappings, which every version of YAML reads in one way.

    Texts are in double quotes, as JSON writes them, which is YAML as well; a number is as JSON
    writes it with a point, for some readers take ``1e-06`` for a text.

    >>> print(yaml_text({"a": {"b": 1e-06}, "c": ["yes", "x: y"]}), end="")
    a:
      b: 1.0e-06
    c:
      - "yes"
      - "x: y"
    """
    return "".join(f"{line}\n" for line in _mapping(value, ""))


def _mapping(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, entry in value.items():
        if isinstance(entry, str | int | float):
            yield f"{indent}{key}: {_scalar(entry)}"
            continue
        yield f"{indent}{key}:"
        nested = _list if isinstance(entry, list) else _mapping
        yield from nested(entry, f"{indent}  ")


def _list(value: list[Any], indent: str) -> Iterator[str]:
    for entry in value:
        if isinstance(entry, str | int | float):
            yield f"{indent}- {_scalar(entry)}"
        elif isinstance(entry, list):
            yield f"{indent}-"
            yield from _list(entry, f"{indent}  ")
        else:
            yield f"{indent}-"
            yield from _mapping(entry, f"{indent}  ")


def _scalar(value: str | float) -> str:
    if isinstance(value, str):
        return f'"{"".join(map(_character, value))}"'
    written = repr(value)
    head, exponent, tail = written.partition("e")
    return f"{head}.0e{tail}" if exponent and "." not in head else written


def _character(character: str) -> str:
    """As JSON escapes it, but for pairs of surrogates, which YAML does not put together."""
    if ord(character) > 0xFFFF:
        return character
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]
