"""The site builds without a warning, asks nobody else for anything, and leads to every page."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.pages import ROOT, Page


def test_every_markdown_file_is_a_page(site: Path) -> None:
    docs = ROOT / "docs"
    files = {file.relative_to(docs) for file in docs.rglob("*.md")}
    sources = {file.with_suffix(".html") for file in files if not file.parts[0].startswith("_")}
    built = {page.relative_to(site) for page in site.rglob("*.html")}
    assert sources - built == {Path("README.html")}


def test_every_link_inside_leads_to_a_page_and_to_its_anchor(pages: dict[Path, Page]) -> None:
    missing = []
    for page in pages.values():
        for link in page.links:
            aim = page.aim(link)
            if aim is None:
                continue
            known = aim[0] not in pages or not aim[1] or aim[1] in pages[aim[0]].anchors
            if not (aim[0].exists() and known):
                missing.append(f"{page.file}: {link}")
    assert missing == []


def test_every_page_is_reached_from_the_index(site: Path, pages: dict[Path, Page]) -> None:
    reached: set[Path] = set()
    ahead = [(site / "index.html").resolve()]
    while ahead:
        file = ahead.pop()
        if file in pages and file not in reached:
            reached.add(file)
            ahead += [aim[0] for aim in map(pages[file].aim, pages[file].links) if aim]
    assert {file.name for file in set(pages) - reached} == {"search.html"}


def test_a_page_asks_nobody_else_for_anything(site: Path, pages: dict[Path, Page]) -> None:
    for page in pages.values():
        for address in page.loads:
            aim = page.aim(address)
            assert aim is not None, (page.file, address)
            assert aim[0].exists(), (page.file, address)
    for sheet in site.rglob("*.css"):
        for address in re.findall(r"url\([\"']?([^)\"']+)", sheet.read_text(encoding="utf-8")):
            if not address.startswith(("data:", "#")):
                assert (sheet.parent / address.partition("?")[0]).exists(), (sheet, address)


def test_formulas_are_rendered(site: Path) -> None:
    page = (site / "theory" / "composition.html").read_text(encoding="utf-8")
    assert page.count('class="katex"') > 5
    for other in site.rglob("*.html"):
        assert "katex-error" not in other.read_text(encoding="utf-8"), other


def test_the_style_sheet_of_formulas_is_of_the_same_version_as_what_renders_them() -> None:
    from sphinxcontrib import katex

    versions = (ROOT / "docs" / "_static" / "katex" / "VERSIONS.md").read_text(encoding="utf-8")
    assert f"| katex | {katex.katex_version} |" in versions
