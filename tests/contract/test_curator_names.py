"""What ``quaestor.curator`` promises: its names, where one looks for them, and its lightness."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import quaestor.curator
from quaestor.curator.aggregates import builder_functions
from tests.contract.test_public_names import linter_order, own_words


def test_the_names_are_sorted_and_shown() -> None:
    assert quaestor.curator.__all__ == sorted(quaestor.curator.__all__, key=linter_order)
    assert set(quaestor.curator.__all__) <= set(dir(quaestor.curator))


def test_every_aggregate_has_its_function_among_them() -> None:
    for name, function in builder_functions().items():
        assert name in dir(quaestor.curator)
        assert getattr(quaestor.curator, name) is function


@pytest.mark.parametrize("name", quaestor.curator.__all__)
def test_every_name_says_what_it_is(name: str) -> None:
    value = getattr(quaestor.curator, name)
    assert value.__name__ == name
    assert len(own_words(value).split("\n")[0]) >= 8


def test_a_star_import_brings_every_name() -> None:
    brought: dict[str, Any] = {}
    exec("from quaestor.curator import *", brought)  # noqa: S102  # the only way to ask
    assert set(brought) - {"__builtins__"} == set(quaestor.curator.__all__)


def test_importing_the_curator_imports_no_engine_and_no_parser() -> None:
    code = (
        "import sys, quaestor.curator\n"
        "heavy = ('numpy', 'duckdb', 'sqlglot', 'sqlalchemy', 'pyarrow', 'ibis')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "[]\n"
