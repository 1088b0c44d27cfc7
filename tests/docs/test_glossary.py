"""A term of the glossary means one thing, and is explained once."""

from __future__ import annotations

from collections import Counter

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def terms() -> list[str]:
    """Every term; a row may explain several."""
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    return [term.strip().casefold() for row in rows[2:] for term in row.split(",")]


def test_every_term_is_explained_once() -> None:
    counted = Counter(terms())
    assert len(counted) > 50
    assert [term for term, count in counted.items() if count > 1] == []
