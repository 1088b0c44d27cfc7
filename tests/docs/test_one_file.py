"""The documentation in one file has every page, and no link that leaves it for another."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from docs.one_file import one_markdown, ordered_pages
from tests.docs.pages import ROOT

DOCS = ROOT / "docs"


def test_every_page_has_its_place_in_the_order() -> None:
    written = {
        file.resolve()
        for file in DOCS.rglob("*.md")
        if not file.relative_to(DOCS).parts[0].startswith("_") and file.name != "README.md"
    }
    ordered = [page.resolve() for page in ordered_pages()]
    assert set(ordered) == written
    assert len(set(ordered)) == len(ordered)


def test_one_markdown_file_has_them_all_and_leads_nowhere_else() -> None:
    text = one_markdown()
    for page in (DOCS / "guide").glob("*.md"):
        assert page.read_text(encoding="utf-8").split("\n", 1)[0] in text
    assert re.findall(r"\]\((?!https?:)[^)\s]*\.md[^)]*\)", text) == []
    assert "```{" not in text


@pytest.mark.slow
def test_one_pdf_is_printed() -> None:
    subprocess.run([sys.executable, "-m", "docs.one_file"], cwd=ROOT, check=True)
    pdf = (DOCS / "_build" / "quaestor.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) > 50
