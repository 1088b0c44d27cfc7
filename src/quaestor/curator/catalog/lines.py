"""In which line of a TOML text each of its keys and entries is; ``tomllib`` does not tell."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

__all__ = ["Place", "lines_of"]

Place = tuple[str | int, ...]
"""The way to a value: keys of tables, and places in lists (from 0)."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACES = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_TEXT = re.compile(  # \x27 is a single quote
    r'"{3}(?:[^\\]|\\.)*?"{3,5}|"(?:[^"\\]|\\.)*"|\x27{3}.*?\x27{3,5}|\x27[^\x27]*\x27', re.DOTALL
)
_OTHER = re.compile(r"[^,\]}\n#]+")  # a number, a truth or a time


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
