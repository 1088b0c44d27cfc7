"""The part of YAML that records are written in, read by its rules, line by line."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["read_yaml"]

_KEY = re.compile(r"( *)([a-z_]+):(?: (.+))?")
_ITEM = re.compile(r"( *)-(?: (.+))?")


def read_yaml(text: str) -> dict[str, Any]:
    """Block mappings and lists of texts in double quotes and of numbers; anything else fails."""
    found, left = _block(text.splitlines(), 0)
    assert not left
    assert isinstance(found, dict)
    return found


def _block(lines: list[str], indent: int) -> tuple[Any, list[str]]:
    """What is indented so far, and the lines after it."""
    mapping: dict[str, Any] = {}
    listed: list[Any] = []
    while lines:
        item, key = _ITEM.fullmatch(lines[0]), _KEY.fullmatch(lines[0])
        match = item or key
        assert match, lines[0]
        if len(match[1]) < indent:
            break
        assert len(match[1]) == indent, lines[0]
        lines = lines[1:]
        scalar = match.group(2) if item else match.group(3)
        value, lines = (_scalar(scalar), lines) if scalar else _block(lines, indent + 2)
        if item:
            listed.append(value)
        else:
            assert match[2] not in mapping, match[2]
            mapping[match[2]] = value
    assert not (mapping and listed)
    return mapping or listed, lines


def _scalar(text: str) -> Any:
    assert text.startswith('"') or re.fullmatch(r"-?\d+(\.\d+(e[-+]\d+)?)?", text), text
    return json.loads(text)
