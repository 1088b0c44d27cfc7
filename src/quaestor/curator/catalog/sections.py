"""A part of a catalog file while it is read: its values, and how to say what is wrong with them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from quaestor.errors import InvalidCatalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from quaestor.curator.catalog.lines import Place

__all__ = ["Page", "Section", "nearest", "shown"]

_LONGEST_SHOWN = 60


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
                remedy = f"did you mean {near!r}?" if near else f"known are {', '.join(known)}"
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
            raise self.wrong(key, f"{key} must be a text that can be read", remedy)
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
