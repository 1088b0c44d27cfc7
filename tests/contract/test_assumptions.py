"""The page of assumptions names functions: each of them is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "theory" / "assumptions.md").read_text(encoding="utf-8")
PLACE = re.compile(r"`([a-z_/]+\.py)::([A-Za-z_.]+)`")


def defined(file: str) -> set[str]:
    """Every function, class and method of a file, by its name inside the file."""
    tree = ast.parse((ROOT / "src" / "quaestor" / file).read_text(encoding="utf-8"))
    found: set[str] = set()

    def walk(nodes: list[ast.stmt], inside: str) -> None:
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(f"{inside}{node.name}")
                walk(node.body, f"{inside}{node.name}.")

    walk(tree.body, "")
    return found


@pytest.mark.parametrize(("file", "name"), sorted(set(PLACE.findall(PAGE))))
def test_what_is_named_as_a_check_is_there(file: str, name: str) -> None:
    assert name in defined(file)


def test_every_row_says_where_it_is_checked() -> None:
    checked = PAGE.split("## Checked in code")[1].split("## Taken on")[0]
    rows = [line for line in checked.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 15
    for row in rows:
        theorem, assumption, where = (cell.strip() for cell in row.strip("|").split(" | "))
        assert theorem
        assert assumption
        assert PLACE.search(where), row


def test_the_page_is_found_from_the_contents() -> None:
    contents = (ROOT / "docs" / "theory" / "index.md").read_text(encoding="utf-8")
    assert "(assumptions.md)" in contents
