"""The glossary says what a word means once, and words are found by their order."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"
ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \|$", re.MULTILINE)


def test_every_word_is_there_once_in_order() -> None:
    rows = [row for row in ROW.findall(PAGE.read_text(encoding="utf-8")) if row != "---"][1:]
    words = [word for row in rows for word in row.split(", ")]
    assert len(words) > 60
    assert len(set(words)) == len(words)
    assert rows == sorted(rows)
