"""Hunt for faults: ``python -m tests.curator.hostile.hunt --engine duckdb --seed 1``.

Prints each class of fault when it is first met, with the statement and how many there were before.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.curator.hostile.generator import statements
from tests.curator.hostile.neighbours import NOBODY
from tests.curator.hostile.spelling import quoted
from tests.curator.hostile.worlds import (
    duckdb_worlds,
    judged,
    parquet_worlds,
    postgres_worlds,
    spark_worlds,
)
from tests.servers import postgres_server, spark_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.curator.hostile.generator import Statement
    from tests.curator.hostile.verdict import Violation
    from tests.curator.hostile.worlds import Worlds

__all__ = ["main", "sort_of"]

ENGINES = ("duckdb", "parquet", "postgres", "spark")
_PART = re.compile(r"\b(YEAR|QUARTER|MONTH|DAY|DAYOFWEEK)\(")


def sort_of(worlds: Worlds, statement: Statement, found: tuple[Violation, ...]) -> str:
    """A rough name for what is behind: what must go for the fault to go."""
    first = found[0]
    if any(one.kind == "bound" and _wholesale(one) for one in found):
        return "a group that is called otherwise"
    plain = _plainly_named(statement)
    if plain.sql != statement.sql:
        still = {one.kind for one in judged(worlds, plain).found}
        if not still & {one.kind for one in found}:
            return "a name that the code uses too"
    if first.kind == "failure":
        return "fails with the person only"
    if any(one.kind == "cells" and _copies(one) for one in found):
        return "copies of a cell"
    if first.kind == "bound" and _PART.search(statement.sql):
        return "a cell moved too far, with parts of dates"
    return f"other: {first.kind}"


def _plainly_named(statement: Statement) -> Statement:
    """The same question with names that nobody else has."""
    sql = statement.sql
    for place, name in enumerate(dict.fromkeys(statement.names)):
        sql = sql.replace(quoted(name), quoted(f"plain{place}"))
    return replace(statement, sql=sql)


def _copies(violation: Violation) -> bool:
    """Whether some cells changed from the same to the same."""
    return len(set(violation.changed)) < len(violation.changed)


def _wholesale(violation: Violation) -> bool:
    """Whether a cell is empty on one side, and its label a text."""
    empty = {"0", "None", "{}"}
    worded = any("'" in cell for cell in violation.cells)
    return worded and any(empty & set(change) for change in violation.changed)


@contextmanager
def _opened(engine: str) -> Iterator[Worlds]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if engine == "duckdb":
            yield duckdb_worlds(folder)
        elif engine == "parquet":
            yield parquet_worlds(folder)
        elif engine == "postgres":
            with postgres_server() as address, postgres_worlds(address) as worlds:
                yield worlds
        else:
            with spark_cluster(1) as master:
                yield spark_worlds(folder, master)


def _say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def hunt(engine: str, seed: int, count: int, seconds: float) -> Counter[str]:
    """Ask so many statements, for so long at most; how often each sort of fault was met."""
    met: Counter[str] = Counter()
    became: Counter[str] = Counter()
    started = time.monotonic()
    with _opened(engine) as worlds:
        for one in statements(worlds[NOBODY], seed, count):
            result = judged(worlds, one)
            became[result.became] += 1
            if result.found:
                sort = sort_of(worlds, one, result.found)
                met[sort] += 1
                if met[sort] <= 2:
                    _say(f"\n[{sort}] statement {one.number + 1}, world {one.world}")
                    _say(f"  {one.sql}")
                    for violation in result.found[:2]:
                        _say(f"  {violation.kind}: {violation.words[:400]}")
            passed = time.monotonic() - started
            if (one.number + 1) % 100 == 0:
                _say(f"... {one.number + 1} statements, {passed:.0f} s, {dict(became)}")
            if passed > seconds:
                break
    _say(f"\nengine {engine}, seed {seed}: {became.total()} statements, {dict(became)}")
    for sort, times in met.most_common():
        _say(f"  {times:5d}  {sort}")
    return met


def main() -> int:
    """Hunt as the command line says; 1 if there was something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=ENGINES, default="duckdb")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--statements", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    given = parser.parse_args()
    return 1 if hunt(given.engine, given.seed, given.statements, given.seconds) else 0


if __name__ == "__main__":
    sys.exit(main())
