"""What can be said of one output in numbers: lengths, places, counts of words, pairs and order.

An output may be a word, a record, a list of any length, a tree of these, an array, or an object of
a type that nobody foresaw. :func:`facts_of` walks through it and gives named numbers; what is not
named is absent. Equal outputs have equal facts, in every process: no hash of Python's and no
address in memory takes part. Objects of unknown types are words, by their text.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from quaestor.audit.targets import Raised

__all__ = ["LARGEST", "Facts", "facts_of", "number_of", "text_of"]

LARGEST = 1e300  # beyond it, and for what is no number: so that sums stay finite

_MOST_NODES = 1500  # of one output; what comes after is only counted
_MOST_PLACES = 48  # of one list, looked at one by one
_DEEPEST = 10
_LONGEST_TEXT = 160
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")

_PLAIN = (str, bytes, bytearray, type(None), Enum, Raised, complex)


@dataclasses.dataclass(slots=True)
class Facts:
    """Named numbers about one output, and the unknown types that were met."""

    values: dict[str, float] = dataclasses.field(default_factory=dict)
    unknown: set[str] = dataclasses.field(default_factory=set)
    nodes: int = 0
    deepest: int = 0

    def add(self, name: str, value: float) -> None:
        """One more of these, or so much more."""
        total = self.values.get(name, 0.0) + value
        self.values[name] = min(max(total, -LARGEST), LARGEST)

    def put(self, name: str, value: float) -> None:
        """This, once."""
        self.values[name] = value


def facts_of(output: Any) -> Facts:
    """Every fact about an output.

    >>> found = facts_of(("F", "T", "T"))
    >>> found.values["the length of the output"], found.values["the number of 'T' in the output"]
    (3.0, 2.0)
    """
    facts = Facts()
    _walk(output, "the output", facts, 0)
    facts.put("the number of parts of the output", float(facts.nodes))
    facts.put("the depth of the output", float(facts.deepest))
    return facts


def number_of(value: Any) -> float | None:
    """A finite float for a number, or nothing: for what is no number, and for NaN."""
    if not isinstance(value, Real | np.bool_):
        return None
    try:
        number = float(value)
    except OverflowError:
        return LARGEST if bool(value > 0) else -LARGEST  # type: ignore[operator]  # any number
    if math.isnan(number):
        return None
    return min(max(number, -LARGEST), LARGEST)


def text_of(value: Any) -> str:
    """The text of a value: without addresses, and never an error."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001  # whatever a stranger's repr does
        text = f"<{type(value).__name__} without text: {type(error).__name__}>"
    text = _ADDRESS.sub("0x", text)
    if len(text) > _LONGEST_TEXT:
        import hashlib

        digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
        text = f"{text[:_LONGEST_TEXT]}... ({digest[:16]})"
    return text


def _walk(value: Any, path: str, facts: Facts, depth: int) -> None:
    facts.nodes += 1
    facts.deepest = max(facts.deepest, depth)
    number = number_of(value)
    if number is not None:
        facts.put(path, number)
        facts.put(f"whether {path} is a number", 1.0)
        return
    if facts.nodes > _MOST_NODES or depth >= _DEEPEST:
        facts.put(f"whether {path} goes on", 1.0)
        return
    kind = type(value).__name__
    fields = _fields(value)
    if fields is not None:
        facts.put(f"whether {path} is a {kind}", 1.0)
        for name, each in fields.items():
            _walk(each, f"{name} of {path}", facts, depth + 1)
    elif isinstance(value, np.ndarray):
        facts.put(f"whether {path} is an array of shape {value.shape}", 1.0)
        _walk_list(value.ravel().tolist(), path, facts, depth)
    elif isinstance(value, Mapping):
        _walk_mapping(value, path, facts, depth)
    elif isinstance(value, AbstractSet):
        facts.put(f"whether {path} is a set", 1.0)
        _walk_list(sorted(value, key=text_of), path, facts, depth)
    elif isinstance(value, Sequence) and not isinstance(value, _PLAIN):
        facts.put(f"whether {path} is a {kind}", 1.0)
        _walk_list(list(value[: _MOST_NODES + 1]), path, facts, depth, length=len(value))
    else:
        _walk_word(value, path, facts)


def _fields(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass, a named tuple or a class of attrs."""
    if isinstance(value, type | Raised | Enum):
        return None
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name, None) for each in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=False))
    of_attrs = getattr(type(value), "__attrs_attrs__", None)
    if of_attrs is not None:
        return {each.name: getattr(value, each.name, None) for each in of_attrs}
    return None


def _walk_word(value: Any, path: str, facts: Facts) -> None:
    if not isinstance(value, (*_PLAIN, Real, type)):
        facts.unknown.add(type(value).__name__)
    facts.put(f"whether {path} is {text_of(value)}", 1.0)
    if isinstance(value, str | bytes | bytearray):
        facts.put(f"the length of {path}", float(len(value)))


def _walk_mapping(value: Mapping[Any, Any], path: str, facts: Facts, depth: int) -> None:
    facts.put(f"whether {path} is a mapping", 1.0)
    facts.put(f"the number of keys of {path}", float(len(value)))
    for key in sorted(value, key=text_of)[:_MOST_NODES]:
        facts.put(f"whether {path} has {text_of(key)}", 1.0)
        _walk(value[key], f"{text_of(key)} of {path}", facts, depth + 1)


def _walk_list(
    entries: list[Any], path: str, facts: Facts, depth: int, *, length: int | None = None
) -> None:
    """The length, each place, and what does not depend on the places."""
    facts.put(f"the length of {path}", float(len(entries) if length is None else length))
    for i, entry in enumerate(entries[:_MOST_PLACES]):
        _walk(entry, f"number {i + 1} of {path}", facts, depth + 1)
    numbers = [number for number in map(number_of, entries) if number is not None]
    if numbers:
        facts.put(f"the sum of {path}", min(max(math.fsum(numbers), -LARGEST), LARGEST))
        facts.put(f"the smallest of {path}", min(numbers))
        facts.put(f"the largest of {path}", max(numbers))
        facts.put(f"the rises in {path}", float(sum(b > a for a, b in pairwise(numbers))))
        facts.put(f"the ties in {path}", float(sum(b == a for a, b in pairwise(numbers))))
    words = [_word(entry) for entry in entries]
    for i, word in enumerate(words):
        if word is not None:
            first = f"the first place of {word} in {path}"
            facts.add(f"the number of {word} in {path}", 1.0)
            if first not in facts.values:
                facts.put(first, float(i + 1))
            facts.put(f"the last place of {word} in {path}", float(i + 1))
    for one, two in pairwise(words):
        if one is not None and two is not None:
            facts.add(f"the number of {one} before {two} in {path}", 1.0)


def _word(entry: Any) -> str | None:
    """What is counted in lists: words, truth values, and whole numbers that are small."""
    if isinstance(entry, bool | np.bool_):
        return str(bool(entry))
    if isinstance(entry, int | np.integer) and abs(int(entry)) < 1000:
        return str(int(entry))
    return text_of(entry) if number_of(entry) is None else None
