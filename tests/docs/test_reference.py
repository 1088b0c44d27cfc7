"""The reference is what the code is: generated pages are fresh, and no public name is left out."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest

from docs.generate import PAGES
from docs.generate.error_codes import what_to_do
from quaestor import errors
from quaestor.accounting import theorems
from tests.docs.pages import ROOT

API = ROOT / "docs" / "reference" / "api"
MODULES = (
    "quaestor",
    "quaestor.audit",
    "quaestor.client.remote_curator",
    "quaestor.curator",
    "quaestor.interop.dp_accounting",
    "quaestor.interop.opacus",
    "quaestor.ledger",
    "quaestor.mechanisms",
    "quaestor.notebook",
)
WRITTEN = re.compile(r"^\.\. (?:currentmodule|auto\w+):: (.+)$", re.MULTILINE)


def documented() -> list[tuple[str, str]]:
    """Every name that a page of the library's reference describes, with its module."""
    found = []
    for page in sorted(API.glob("*.md")):
        module = ""
        for word in WRITTEN.findall(page.read_text(encoding="utf-8")):
            if word.startswith("quaestor"):
                module = word
            else:
                found.append((module, word))
    return found


@pytest.mark.parametrize("path", sorted(PAGES))
def test_a_generated_page_is_fresh(path: str) -> None:
    written = (ROOT / path).read_text(encoding="utf-8")
    assert written == PAGES[path](), "run  python -m docs.generate"


def test_every_public_name_is_described_once() -> None:
    names = documented()
    assert len(set(names)) == len(names)
    promised = {
        (module, name) for module in MODULES for name in importlib.import_module(module).__all__
    }
    assert set(names) == promised, "list it in docs/reference/api"


def test_the_page_of_theorems_has_every_theorem() -> None:
    page = (ROOT / "docs" / "theory" / "theorems.md").read_text(encoding="utf-8")
    for name in theorems.__all__:
        if inspect.isfunction(getattr(theorems, name)):
            assert f".. autofunction:: {name}\n" in page


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_says_what_to_do(name: str) -> None:
    assert len(what_to_do(getattr(errors, name))) > 10
