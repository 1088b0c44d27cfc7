"""Modules that were documented under another name are still found there, and say where they are."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from quaestor.moved_modules import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_is_the_module_itself_and_warns(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=MOVED[old]):
        found = import_module(old)
    assert found is import_module(MOVED[old])
    assert found.__name__ == MOVED[old]
    assert found.__spec__ is not None
    assert found.__spec__.name == MOVED[old]


def test_names_are_imported_from_old_modules_in_a_fresh_process() -> None:
    lines = "from quaestor.curator.query import Query; print(Query.__module__)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", lines],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == MOVED["quaestor.curator.query"]


def test_a_module_of_a_moved_package_is_not_run_twice() -> None:
    sys.modules.pop("quaestor.accounting.across.facts", None)
    with pytest.warns(DeprecationWarning, match="quaestor.accounting.membership"):
        found = import_module("quaestor.accounting.across.facts")
    assert found is import_module("quaestor.accounting.membership.facts")
