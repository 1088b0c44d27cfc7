"""The site, built once for all tests of this folder."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import ROOT, Page, read_page

if TYPE_CHECKING:
    from pathlib import Path

SPHINX = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n"]
# Every page has the tree of all pages, and to sort a thousand names out of it anew takes a third of
# the time. Without them only the names beside a page of the reference are not there.
SPHINX += ["-D", "toc_object_entries=0"]


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of HTML pages, as ``make docs`` builds it: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    log = folder / "log.txt"  # a pipe would stay open as long as any child of Sphinx's lives
    with log.open("w") as said:
        done = subprocess.run(
            [*SPHINX, "-b", "html", "-d", str(folder / "doctrees"), "docs", str(folder / "html")],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=said,
            stderr=said,
            check=False,
        )
    assert done.returncode == 0, log.read_text()
    return folder / "html"


@pytest.fixture(scope="package")
def pages(site: Path) -> dict[Path, Page]:
    """Every page of the site by its file."""
    return {page.file: page for page in map(read_page, site.rglob("*.html"))}
