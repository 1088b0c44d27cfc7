"""All of the documentation in one Markdown file, and in one PDF: ``make docs-print``.

The Markdown has the pages as they are written, in the order of the site, with links from one to the
other; names whose pages come from docstrings are in the PDF only, which a browser prints.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["one_markdown", "ordered_pages"]

_DOCS = Path(__file__).parent
_BUILT = _DOCS / "_build"
_BLOCK = re.compile(r"^(:{3,}|`{3,})\{[\w-]+\}.*?^\1\n?", re.DOTALL | re.MULTILINE)
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.DOTALL | re.MULTILINE)
_INCLUDE = re.compile(r"^```\{include\} (\S+)\n.*?^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s:#]*\.md)(#[^)\s]*)?\)")


def ordered_pages(page: Path = _DOCS / "index.md") -> list[Path]:
    """The pages that a page leads to, in the order of the site; itself first."""
    found = [page]
    for tree in _TOCTREE.findall(page.read_text(encoding="utf-8")):
        names = [line for line in tree.splitlines() if line and not line.startswith(":")]
        for name in names:
            found += ordered_pages((page.parent / f"{name}.md").resolve())
    return found


def one_markdown() -> str:
    """All pages, one after the other; a link to a page leads to its heading."""
    texts = {page: _text(page) for page in ordered_pages() if page.parent.name != "api"}
    headings = {page: _slug(text.split("\n", 1)[0]) for page, text in texts.items()}

    def linked(page: Path, text: str) -> str:
        def aim(found: re.Match[str]) -> str:
            target = (page.parent / found[1]).resolve()
            return f"]({found[2] or '#' + headings.get(target, '')})"

        return _LINK.sub(aim, text)

    return "\n\n".join(linked(page, text) for page, text in texts.items()) + "\n"


def _text(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    included = _INCLUDE.search(text)
    if included:
        text = (page.parent / included[1]).read_text(encoding="utf-8")
        text = text.replace("](docs/", "](")
    return _BLOCK.sub("", text).strip()


def _slug(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lstrip("# ").lower()).replace(" ", "-")


def _print_pdf(pdf: Path) -> None:
    folder = _BUILT / "singlehtml"
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-b", "singlehtml", str(_DOCS), str(folder)]
    subprocess.run(sphinx, check=True)  # noqa: S603  # our own command
    browser = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    page = (folder / "index.html").as_uri()
    command = [str(browser), *options, f"--print-to-pdf={pdf}", page]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # likewise


if __name__ == "__main__":
    _BUILT.mkdir(exist_ok=True)
    (_BUILT / "quaestor.md").write_text(one_markdown(), encoding="utf-8")
    _print_pdf(_BUILT / "quaestor.pdf")
