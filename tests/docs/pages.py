"""What a built page has: anchors, links, and what it loads."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of the site."""

    file: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def aim(self, address: str) -> tuple[Path, str] | None:
        """The file and the anchor that an address means, or None if it leads elsewhere."""
        if re.match(r"[a-z]+:|//", address):
            return None
        path, _, anchor = unquote(address).partition("#")
        path = path.partition("?")[0]
        return ((self.file.parent / path).resolve() if path else self.file, anchor)


class _Reader(HTMLParser):
    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        if "id" in values:
            self.page.anchors.add(values["id"])
        if "href" in values:
            (self.page.links if tag == "a" else self.page.loads).append(values["href"])
        if "src" in values:
            self.page.loads.append(values["src"])


def read_page(file: Path) -> Page:
    """Read a page of the site."""
    page = Page(file=file.resolve())
    _Reader(page).feed(file.read_text(encoding="utf-8"))
    return page
