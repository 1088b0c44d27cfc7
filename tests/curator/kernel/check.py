"""``python -m tests.curator.kernel.check``: whether the kernel keeps its promise, in seconds.

It prints what is wrong, and ends with status 1 if anything is; 0 if the promise is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.curator.kernel import (
    dated,
    drawing,
    gathering,
    keeping,
    pointed,
    prices,
    questions,
    refusals,
    rowwise,
)
from tests.curator.kernel.judging import attacked
from tests.curator.kernel.tables import duckdb_sides, postgres_sides

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quaestor.curator.catalog.model import Catalog
    from tests.curator.kernel.tables import Side

    Places = tuple[dict[str, Side], tuple[Catalog, Catalog]]

__all__ = ["main"]

_SEEDS = range(7000, 7040)


@contextmanager
def _duckdb(folder: Path) -> Iterator[Places]:
    (at := folder / "sides").mkdir()
    yield duckdb_sides(at), questions.clinics_in_files(folder)


@contextmanager
def _postgres(folder: Path) -> Iterator[Places]:
    import psycopg

    from tests.servers import postgres_server

    with postgres_server() as address:
        addresses = {}
        for name in ("attacked", "clinic_with", "clinic_without"):
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}".encode())
            variable = f"QUAESTOR_CHECK_{name.upper()}"
            addresses[variable] = address.replace("/postgres?", f"/{name}?")
        os.environ.update(addresses)
        first, *clinics = addresses
        sides = postgres_sides(addresses[first], first)
        yield sides, questions.clinics_on_postgres(folder, {n: addresses[n] for n in clinics})
        sides["whole"].close()


def main() -> int:
    """Everything once, on one engine, up to the first part in which something is wrong."""
    parser = argparse.ArgumentParser(description="Whether the kernel keeps its promise.")
    parser.add_argument("--engine", choices=("duckdb", "postgres"), default="duckdb")
    engine = parser.parse_args().engine
    cases: Counter[str] = Counter()
    opened = _duckdb if engine == "duckdb" else _postgres
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as (sides, clinics):
        parts: tuple[Callable[[], list[str]], ...] = (
            lambda: refusals.wrongs(sides["whole"]),
            prices.wrongs,
            drawing.wrongs,
            gathering.wrongs,
            lambda: rowwise.wrongs(sides["whole"].dialect, range(60)),
            lambda: _kept(Path(folder)),
            lambda: pointed.wrongs(sides, every=False),
            lambda: _dated(Path(folder)),
            lambda: questions.wrongs(clinics, cases),
            lambda: _attacked(sides, cases),
        )
        for part in parts:
            if wrong := part():
                break
    for line in wrong:
        sys.stdout.write(f"wrong: {line[:300]}\n")
    sys.stdout.write(json.dumps(cases) + "\n")
    return 1 if wrong else 0


def _dated(folder: Path) -> list[str]:
    """Dated rows, on DuckDB: their statements are the same everywhere."""
    (at := folder / "dated").mkdir()
    sides = dated.duckdb_dated(at)
    wrong = dated.wrongs(sides, stored=("moments",))
    sides["base"].close()
    return wrong


def _kept(folder: Path) -> list[str]:
    """Private groups that are kept, on DuckDB: their statements are the same everywhere."""
    (at := folder / "kept").mkdir()
    sides = duckdb_sides(at)
    wrong = keeping.wrongs(sides, at)
    sides["whole"].close()
    return wrong


def _attacked(sides: dict[str, Side], cases: Counter[str]) -> list[str]:
    tally = attacked(sides, _SEEDS)
    cases.update({f"attacks {name}": count for name, count in tally.cases.items()})
    return tally.wrong


if __name__ == "__main__":
    sys.exit(main())
