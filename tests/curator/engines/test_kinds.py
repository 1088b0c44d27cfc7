"""Every registered engine answers all that is asked of one, and brings no driver with it."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from quaestor.curator.catalog.model import Source
from quaestor.curator.catalog.sources import ENGINES, engine_kind, source_keys
from quaestor.curator.scalars.dialect import Dialect


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_called_as_it_is_registered(name: str) -> None:
    kind = engine_kind(name)
    assert kind.name == name
    assert isinstance(kind.dialect, Dialect)
    assert kind.dialect.name == name
    assert kind.address in kind.keys
    assert not set(kind.keys) & set(kind.shared)
    assert all(key.help.endswith(".") and key.example for key in kind.keys)


def test_a_key_is_of_one_engine() -> None:
    keys = Counter(key.name for name in ENGINES for key in engine_kind(name).keys)
    assert set(keys.values()) == {1}
    assert list(source_keys()) == list(keys)
    shared = {key for name in ENGINES for key in engine_kind(name).shared}
    assert shared <= set(source_keys().values())


@pytest.mark.parametrize("name", ENGINES)
def test_a_source_is_written_with_the_keys_of_its_engine(name: str) -> None:
    kind = engine_kind(name)
    source = Source(engine=name, connection="somewhere", table="visits")
    written = {key: value for key, value in kind.written(source).items() if value is not None}
    assert written == {kind.address.name: "somewhere", "table": "visits"}
    assert "somewhere" in kind.place(source)
    assert kind.identity(source) != kind.identity(Source(engine=name, connection="elsewhere"))


def test_engines_are_known_without_their_drivers() -> None:
    code = (
        "import sys\nfrom quaestor.curator.catalog.sources import source_keys\nsource_keys()\n"
        "heavy = ('duckdb', 'psycopg', 'pyspark', 'pyarrow', 'numpy', 'sqlglot')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "[]\n"
