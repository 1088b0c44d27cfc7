"""Notebooks from the tutorials: ``python docs/notebooks.py FOLDER`` (or ``make notebooks``).

A page is the source. Its text becomes cells of text, its examples become cells of code without
their prompts and without what they print: whoever runs the notebook sees that.
"""

from __future__ import annotations

import doctest
import json
import re
import sys
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent / "tutorials"
NOISE = doctest.register_optionflag("NOISE")
"""Of an example whose figures differ from run to run."""
BLOCK = re.compile(r"^```python\n(>>> .*?)^```\n", re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"\s*# doctest: .*$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)]*)\)")


def notebook(page: str) -> dict[str, Any]:
    """The notebook of a page, as the JSON of nbformat 4."""
    pieces = BLOCK.split(page)
    cells = [_cell(place, text) for place, text in enumerate(pieces) if text.strip()]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(place: int, text: str) -> dict[str, Any]:
    """Every other piece is code."""
    if place % 2 == 0:
        plain = LINK.sub("]", text).strip()  # links go to pages, which are not beside a notebook
        return {"cell_type": "markdown", "id": f"c{place}", "metadata": {}, "source": plain}
    examples = doctest.DocTestParser().get_examples(text)
    source = DIRECTIVE.sub("", "".join(each.source for each in examples)).rstrip()
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": f"c{place}",
        "metadata": {},
        "outputs": [],
        "source": source,
    }


def write(folder: Path) -> list[Path]:
    """Write every tutorial as a notebook."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if BLOCK.search(text):
            written.append(folder / f"{page.stem}.ipynb")
            content = json.dumps(notebook(text), indent=1, ensure_ascii=False)
            written[-1].write_text(f"{content}\n", encoding="utf-8")
    return written


if __name__ == "__main__":
    write(Path(sys.argv[1]))
