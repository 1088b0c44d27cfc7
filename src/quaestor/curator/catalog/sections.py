"""A part of a catalog file while it is read: its values, and how to say what is wrong with them.

Errors name the line; ``tomllib`` does not tell it, so that it is looked up here.
"""

from __future__ import annotations

import math
import re
import tomllib
from bisect import bisect_right
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from quaestor.errors import InvalidCatalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Page", "Place", "Section", "lines_of", "nearest", "shown"]

Place = tuple[str | int, ...]
"""The way to a value: keys of tables, and places in lists (from 0)."""

_LONGEST_SHOWN = 60
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACES = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_TEXT = re.compile(  # \x27 is a single quote
    r'"{3}(?:[^\\]|\\.)*?"{3,5}|"(?:[^"\\]|\\.)*"|\x27{3}.*?\x27{3,5}|\x27[^\x27]*\x27', re.DOTALL
)
_OTHER = re.compile(r"[^,\]}\n#]+")  # a number, a truth or a time


def shown(value: object) -> str:
    """A value as the file might have it, cut where it is long."""
    try:
        text = ("false", "true")[value] if isinstance(value, bool) else repr(value)
    except ValueError:  # Python refuses to print integers of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, whatever the case."""
    by_lower = {each.lower(): each for each in known}
    near = get_close_matches(name.lower()[:_LONGEST_SHOWN], by_lower, n=1)
    return by_lower[near[0]] if near else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The file that is read."""

    file: str
    lines: Mapping[Place, int]

    def line(self, place: Place) -> int | None:
        """Where something is, or the nearest thing around it."""
        for length in range(len(place), 0, -1):
            if place[:length] in self.lines:
                return self.lines[place[:length]]
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A table of the file. ``title`` is what messages call it; the file itself has none."""

    page: Page
    place: Place
    title: str
    values: Mapping[str, Any]

    def wrong(self, key: str | int | None, problem: str, remedy: str) -> InvalidCatalog:
        """The error about a key (or about all of it), ready to be raised."""
        place = self.place if key is None else (*self.place, key)
        words = f"{self.title}: {problem}" if self.title else problem
        line = self.page.line(place)
        return InvalidCatalog(file=self.page.file, line=line, problem=words, remedy=remedy)

    def only(self, *known: str) -> None:
        """Refuse every key but these."""
        for key in self.values:
            if key not in known:
                near = nearest(key, known)
                remedy = (
                    f"did you mean {near!r}?" if near else f"the known keys are {', '.join(known)}"
                )
                raise self.wrong(key, f"unknown key {shown(key)}", remedy)

    def section(self, key: str, *, title: str, remedy: str) -> Section:
        """A table inside; an empty one where there is none."""
        values = self.values.get(key, {})
        if not isinstance(values, dict):
            raise self.wrong(key, f"{key} must be a table, not {shown(values)}", remedy)
        return Section(page=self.page, place=(*self.place, key), title=title, values=values)

    def sections(self, *, kind: str, remedy: str) -> Iterator[tuple[str, Section]]:
        """Every entry, by name; all of them must be tables."""
        for name in self.values:
            yield name, self.section(name, title=f"{kind} {shown(name)}", remedy=remedy)

    def entries(self, key: str, *, kind: str, remedy: str) -> list[Section]:
        """A list of tables; empty where there is none."""
        listed = self.values.get(key, [])
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
            raise self.wrong(key, f"{key} must be a list of tables, not {shown(listed)}", remedy)
        title = f"{self.title}, {kind}" if self.title else kind
        return [
            Section(
                page=self.page,
                place=(*self.place, key, count),
                title=f"{title} {count + 1}",
                values=entry,
            )
            for count, entry in enumerate(listed)
        ]

    def text(self, key: str, *, remedy: str) -> str | None:
        """A text that is not empty, if the key is there."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.wrong(key, f"{key} must be a text, not {shown(value)}", remedy)
        if not value.strip() or not value.isprintable():
            raise self.wrong(key, f"{key} must be a printable text", remedy)
        return value

    def texts(self, key: str, *, remedy: str) -> tuple[str, ...]:
        """A list of texts, or one text alone; empty where the key is missing."""
        value = self.values.get(key, [])
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(entry, str) for entry in listed):
            raise self.wrong(key, f"{key} must be a list of texts, not {shown(value)}", remedy)
        return tuple(listed)

    def choice(self, key: str, choices: tuple[str, ...], *, remedy: str) -> str | None:
        """One of a few words, if the key is there."""
        value = self.values.get(key)
        if value is None or (isinstance(value, str) and value in choices):
            return value
        near = nearest(value, choices) if isinstance(value, str) else None
        problem = f"{key} must be one of {', '.join(choices)}, not {shown(value)}"
        raise self.wrong(key, problem, f"did you mean {near!r}?" if near else remedy)

    def truth(self, key: str, *, remedy: str) -> bool:
        """True or false; false where the key is missing."""
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, f"{key} must be true or false, not {shown(value)}", remedy)
        return value

    def whole(self, key: str, *, largest: int, remedy: str) -> int | None:
        """A whole number from 1, if the key is there."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
            problem = f"{key} must be a whole number from 1 to {largest}, not {shown(value)}"
            raise self.wrong(key, problem, remedy)
        return value

    def number(self, key: str, *, valid: str, remedy: str) -> float | None:
        """A finite number, whole numbers exactly, if the key is there; its range is not checked."""
        value = self.values.get(key)
        if value is None:
            return None
        wrong = self.wrong(key, f"{key} must be {valid}, not {shown(value)}", remedy)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong
        try:
            number = float(value)
        except OverflowError:
            raise wrong from None
        if not math.isfinite(number) or number != value:
            raise wrong
        return number + 0.0  # no negative zero


# In which line things are


def lines_of(text: str) -> dict[Place, int]:
    r"""The line (from 1) of every table, key and entry of a text that ``tomllib`` has accepted.

    >>> lines_of('ledger = "x.db"\n[tables.visits]\nkeys = [\n  1,\n]')[("tables", "visits")]
    2
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


class _Scanner:
    """Walks once through a text that is known to be TOML."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.lines: dict[Place, int] = {}
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._last: dict[Place, int] = {}  # of each list of tables, its last entry so far

    def document(self) -> None:
        """Headers, and pairs under the last of them."""
        place: Place = ()
        while self._next():
            if self.text.startswith("[[", self.at):
                place = self._header(2)
            elif self.text[self.at] == "[":
                place = self._header(1)
            else:
                self._pair(place)

    def _next(self) -> bool:
        """Go to where something is written."""
        self._pass(_BLANK)
        return self.at < len(self.text)

    def _pass(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def _note(self, place: Place, start: int) -> None:
        line = bisect_right(self._starts, start)
        for length in range(1, len(place) + 1):
            self.lines.setdefault(place[:length], line)

    def _header(self, brackets: int) -> Place:
        start = self.at
        self.at += brackets
        key = self._key()
        self.at += brackets
        place: Place = ()
        for part in key[:-1]:
            place = self._entered((*place, part))
        place = (*place, key[-1])
        if brackets == 2:
            self._last[place] = self._last.get(place, -1) + 1
        place = self._entered(place)
        self._note(place, start)
        return place

    def _entered(self, place: Place) -> Place:
        """A header that goes through a list of tables means its last entry."""
        return (*place, self._last[place]) if place in self._last else place

    def _key(self) -> Place:
        parts: list[str] = []
        while True:
            self._pass(_SPACES)
            if self.text[self.at] in "\"'":
                parts.append(str(tomllib.loads(f"text = {self._pass(_TEXT)}")["text"]))
            else:
                parts.append(self._pass(_BARE))
            self._pass(_SPACES)
            if self.text[self.at] != ".":
                return tuple(parts)
            self.at += 1

    def _pair(self, place: Place) -> None:
        start = self.at
        place = (*place, *self._key())
        self._note(place, start)
        self.at += 1  # the equals sign
        self._value(place)

    def _value(self, place: Place) -> None:
        self._pass(_SPACES)
        opening = self.text[self.at]
        if opening in "\"'":
            self._pass(_TEXT)
        elif opening == "[":
            self._entries("]", place)
        elif opening == "{":
            self._entries("}", place)
        else:
            self._pass(_OTHER)

    def _entries(self, closing: str, place: Place) -> None:
        self.at += 1
        count = 0
        while self._next() and self.text[self.at] != closing:
            if self.text[self.at] == ",":
                self.at += 1
            elif closing == "}":
                self._pair(place)
            else:
                self._note((*place, count), self.at)
                self._value((*place, count))
                count += 1
        self.at += 1
