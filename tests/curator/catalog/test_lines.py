"""The lines that errors name are those where the keys really are."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from quaestor.curator.catalog.sections import lines_of
from tests.curator.catalog.examples import documented

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = st.sampled_from(["a", "b-c", "d_1", "a.b", "x]y", "=", "# no", "é", 'q"uote', "", "[c]"])
LEAVES: st.SearchStrategy[Any] = (
    st.integers(-5, 5)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "plain", "[no]", "a = 1", "#", '"""', "'''", "two\nlines", "\\", "}"])
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)
GAPS = st.sampled_from(["", " ", "\t"])
BREAKS = st.sampled_from(["", "\n", " # [x] = {\n", "\n\n"])


def places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every way to a value."""
    entries: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        entries = enumerate(value)
    for key, entry in entries:
        yield (*place, key)
        yield from places(entry, (*place, key))


def quoted(text: str, data: st.DataObject) -> str:
    ways = [json.dumps(text, ensure_ascii=False)]
    if "'" not in text and "\n" not in text:
        ways.append(f"'{text}'")
    if '"' not in text and "\\" not in text:
        ways.append(f'"""{text}"""' if text[:1] != "\n" else ways[0])
    return data.draw(st.sampled_from(ways))


class Writer:
    """Writes a value as TOML in some way, and notes in which line each key begins."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.text = data, ""
        self.lines: dict[tuple[str | int, ...], int] = {}

    def note(self, place: tuple[str | int, ...]) -> None:
        """What comes next is at this place."""
        self.lines[place] = self.text.count("\n") + 1

    def key(self, name: str) -> None:
        """Write a key, with quotes or without."""
        bare = name in {"a", "b-c", "d_1"} and self.data.draw(st.booleans())
        self.text += name if bare else json.dumps(name, ensure_ascii=False)

    def value(self, value: Any, place: tuple[str | int, ...]) -> None:
        """Write a value."""
        if isinstance(value, dict):
            self.text += "{"
            for count, (name, entry) in enumerate(value.items()):
                self.text += "," if count else ""
                self.pair(name, entry, place)
            self.text += "}"
        elif isinstance(value, list):
            self.text += "["
            for count, entry in enumerate(value):
                self.text += "," if count else ""
                self.text += self.data.draw(BREAKS)
                self.note((*place, count))
                self.value(entry, (*place, count))
            self.text += self.data.draw(BREAKS) + "]"
        elif isinstance(value, str):
            self.text += quoted(value, self.data)
        else:
            self.text += json.dumps(value)

    def pair(self, name: str, value: Any, place: tuple[str | int, ...]) -> None:
        """Write a key and its value."""
        self.text += self.data.draw(GAPS)
        self.note((*place, name))
        self.key(name)
        self.text += f"{self.data.draw(GAPS)}={self.data.draw(GAPS)}"
        self.value(value, (*place, name))
        self.text += self.data.draw(GAPS)

    def document(self, values: dict[str, Any]) -> None:
        """Write it all: first what has no header."""
        leaves = {k: v for k, v in values.items() if not isinstance(v, dict)}
        for name, value in leaves.items():
            self.pair(name, value, ())
            self.text += "\n"
        for name, value in values.items():
            if isinstance(value, dict):
                self.text += self.data.draw(BREAKS.filter(lambda gap: gap == "" or "\n" in gap))
                self.note((name,))
                self.text += "["
                self.key(name)
                self.text += "] # header\n"
                for inner, entry in value.items():
                    self.pair(inner, entry, (name,))
                    self.text += "\n"


@given(values=DOCUMENTS, data=st.data())
def test_every_key_and_entry_is_found_in_its_line(
    values: dict[str, Any], data: st.DataObject
) -> None:
    writer = Writer(data)
    writer.document(values)
    assert tomllib.loads(writer.text) == values
    assert lines_of(writer.text) == writer.lines
    assert set(writer.lines) == set(places(values))


def test_lists_of_tables_are_counted() -> None:
    text = "[[a]]\nb = 1\n[[a.c]]\nd = 2\n[[a.c]]\n[a.c.e]\nf.g = 3\n[[a]]\n  [a.'c']\nh = 4\n"
    lines = lines_of(text)
    assert set(lines) == set(places(tomllib.loads(text)))
    assert lines["a", 0, "c", 1, "e", "f", "g"] == 7
    assert (lines["a", 1], lines["a", 1, "c"], lines["a", 1, "c", "h"]) == (8, 9, 10)


def test_long_texts_and_windows_line_ends_are_passed() -> None:
    text = (
        'a = """x\r\n[no]\r\n\\""" y"""""\r\n'
        "b = '''\r\n''it'''''\r\n"
        "c = 2026-01-31 07:00:00\r\n"
        "d = 1"
    )
    assert set(tomllib.loads(text)) == set("abcd")
    assert lines_of(text) == {("a",): 1, ("b",): 4, ("c",): 6, ("d",): 7}


def test_every_place_of_the_documented_example_is_found() -> None:
    text = documented()
    lines = lines_of(text)
    assert set(lines) == set(places(tomllib.loads(text)))
    rows = text.splitlines()
    for place, line in lines.items():
        if isinstance(place[-1], str):
            assert place[-1] in rows[line - 1]
