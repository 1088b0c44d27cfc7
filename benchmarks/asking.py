"""What a question costs in time beyond its engine: ``python -m benchmarks.asking``."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

__all__ = ["asking_lines"]

_QUESTIONS = 25
_GROUPS = 1000
_CATALOG = f"""
[tables.visits]
database = "visits.duckdb"
unit = "patient"
rows = 3
groups = 3

[tables.visits.columns]
patient = "integer"
ward = {{ kind = "integer", keys = {list(range(_GROUPS))} }}
age = {{ kind = "integer", low = 0, high = 120 }}

[accounts.research]
epsilon = 1000.0
delta = 1e-6
"""


def asking_lines() -> list[str]:
    """Medians over questions that are all different, and of noise on many groups."""
    with tempfile.TemporaryDirectory() as folder:
        overheads, repeats, previews = _questions(Path(folder))
    steps = "parse, price, plan, charge, draw, settle"
    noise = f"Noise on {_GROUPS:,} groups, with errors and intervals"
    return [
        f"A whole question beyond its engine ({steps}): {1e3 * overheads:.1f} ms (goal: 30 ms).",
        f"The same question again: {1e3 * repeats:.1f} ms; a preview: {1e3 * previews:.1f} ms.",
        f"{noise}: {1e3 * _noise():.1f} ms (goal: below 10 ms).",
    ]


def _questions(folder: Path) -> tuple[float, float, float]:
    import duckdb

    from quaestor.curator import Curator

    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT i % 10_000 AS patient, i % 1000 AS ward, "
            "18 + i % 70 AS age FROM range(100_000) AS rows(i)"
        )
    (folder / "quaestor.toml").write_text(_CATALOG, encoding="utf-8")
    overheads, repeats, previews = [], [], []
    with Curator.from_file(folder) as curator:
        curator.open_account("research")
        clock = _Clock()
        curator.progress = clock.told
        for age in range(_QUESTIONS):
            sql = f"SELECT COUNT(*) AS n, AVG(age) AS mean FROM visits WHERE age > {age}"  # noqa: S608
            previews.append(_seconds(lambda sql=sql: curator.preview(sql, epsilon=0.1)))
            whole = _seconds(lambda sql=sql: curator.ask(sql, epsilon=0.1))
            overheads.append(whole - clock.engine)
            repeats.append(_seconds(lambda sql=sql: curator.ask(sql, epsilon=0.1)))
    return statistics.median(overheads), statistics.median(repeats), statistics.median(previews)


class _Clock:
    """Hears what the curator does, and so how long the engine takes."""

    def __init__(self) -> None:
        self.engine, self._since = 0.0, 0.0

    def told(self, doing: str) -> None:
        now = time.perf_counter()
        if doing == "computing exact figures":
            self._since = now
        elif doing == "drawing noise":
            self.engine = now - self._since


def _noise() -> float:
    from quaestor.curator.answers.outputs import answer_of
    from quaestor.curator.catalog import catalog_from_toml
    from quaestor.curator.kernel.figures import Exact, drawn
    from quaestor.curator.pricing.offers import offer
    from quaestor.curator.sql import parse

    catalog = catalog_from_toml(_CATALOG)
    query = parse("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", catalog)
    made = offer(query, epsilon=0.1)
    exact = Exact(
        groups=None,
        units=list(range(_GROUPS)),
        values={measure: list(range(_GROUPS)) for measure in made.measurement.measures},
    )

    def noise() -> object:
        return answer_of(query, made, drawn(made.measurement, exact))

    return statistics.median(_seconds(noise) for _ in range(15))


def _seconds(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    print("\n".join(asking_lines()))
