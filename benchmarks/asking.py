"""What a question costs in time beyond its engine: ``python -m benchmarks.asking``."""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.goals import Goal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["asking_lines"]

_QUESTIONS = 25
_WARM = 3
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
_ASKED = "SELECT COUNT(*) AS n, AVG(age) AS mean FROM visits WHERE age > {}"
_REALS = re.compile(r"CAST\('([-0-9.e+]+)' AS DOUBLE\)")
_WHOLES = re.compile(r"(?<![\w$'.\"])\d+(?![\w.'])")

Spent = tuple[float, float]
"""Seconds of wall clock, and of processor time."""


def asking_lines() -> tuple[list[str], list[Goal]]:
    """Medians over questions that are all different, and of noise on many groups."""
    with tempfile.TemporaryDirectory() as folder:
        found = _questions(Path(folder))
    beyond, noisy = _ms(found["beyond"]), _noise()
    steps = "parse, price, plan, charge, draw, settle"
    noise = f"Noise on {_GROUPS:,} groups, with errors and intervals"
    goals = [
        Goal(
            what="a new question beyond its engine, CPU",
            measured=1e3 * found["beyond"][1],
            at_most=15.0,
            unit="ms",
            reason="pricing it, with and without its whole error, is two thirds",
        ),
        Goal(
            what=f"noise on {_GROUPS:,} groups, with errors and intervals",
            measured=1e3 * noisy[0],
            at_most=10.0,
            unit="ms",
        ),
    ]
    lines = [
        "",
        "Questions that differ in a number, in milliseconds; processor time in brackets:",
        "",
        f"- a new question beyond its engine ({steps}): {beyond}",
        f"  - planning and pricing: {_ms(found['priced'])}",
        f"  - writing its statements: {_ms(found['written'])}",
        f"- its engine, DuckDB: {_ms(found['engine'])}",
        f"  - the same statements again: {_ms(found['plain'])}",
        f"  - with all numbers bound as parameters: {_ms(found['bound'])}",
        f"  - with prepared statements: {_ms(found['prepared'])}",
        f"- the same question again: {_ms(found['again'])}; a preview: {_ms(found['preview'])}",
        f"- {noise}: {_ms(noisy)}",
        "",
    ]
    return lines, goals


def _ms(spent: Spent) -> str:
    return f"{1e3 * spent[0]:.1f} ({1e3 * spent[1]:.1f})"


class _Clock:
    """How long calls take: all those of a name, added up until they are read."""

    def __init__(self) -> None:
        self._wall, self._cpu = 0.0, 0.0

    def over(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                return function(*given, **named)
            finally:
                self._wall += time.perf_counter() - wall
                self._cpu += time.process_time() - cpu

        return timed

    def read(self) -> Spent:
        spent = self._wall, self._cpu
        self._wall, self._cpu = 0.0, 0.0
        return spent


class _Timed:
    """Clocks on the parts of a question, and the statements that were run for it."""

    def __init__(self) -> None:
        self._clocks = {name: _Clock() for name in ("engine", "priced", "written")}
        self.statements: list[str] = []
        self.connection: Any = None

    def read(self) -> dict[str, Spent]:
        return {name: clock.read() for name, clock in self._clocks.items()}

    def _noted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        timed = self._clocks["engine"].over(function)

        def run(connection: Any, sql: str) -> Any:
            self.connection = connection
            self.statements.append(sql)
            return timed(connection, sql)

        return run

    @contextmanager
    def running(self) -> Iterator[None]:
        """While what is inside runs, these functions are timed."""
        from quaestor.curator import pipeline
        from quaestor.curator.engines import engine as engines
        from quaestor.curator.engines.duckdb.connection import DuckConnection

        places: dict[tuple[Any, str], Callable[..., Any]] = {
            (DuckConnection, "rows"): self._noted,
            (DuckConnection, "columns"): self._noted,
            (pipeline, "priced"): self._clocks["priced"].over,
            (engines, "prepare"): self._clocks["written"].over,
        }
        before = {place: getattr(*place) for place in places}
        for (owner, name), way in places.items():
            setattr(owner, name, way(getattr(owner, name)))
        try:
            yield
        finally:
            for (owner, name), usual in before.items():
                setattr(owner, name, usual)


def _questions(folder: Path) -> dict[str, Spent]:
    import duckdb

    from quaestor.curator import Curator

    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT i % 10_000 AS patient, i % 1000 AS ward, "
            "18 + i % 70 AS age FROM range(100_000) AS rows(i)"
        )
    (folder / "quaestor.toml").write_text(_CATALOG, encoding="utf-8")
    timed = _Timed()
    with Curator.from_file(folder) as curator, timed.running():
        curator.open_account("research")
        questions = map(_ASKED.format, range(_WARM + _QUESTIONS))
        spent = [_one(curator, sql, timed) for sql in questions]
    return {name: _median([each[name] for each in spent[_WARM:]]) for name in spent[0]}


def _one(curator: Any, sql: str, timed: _Timed) -> dict[str, Spent]:
    timed.read()
    timed.statements.clear()
    whole = _spent(lambda: curator.ask(sql, epsilon=0.1))
    found = timed.read()
    engine = found["engine"]
    found["beyond"] = whole[0] - engine[0], whole[1] - engine[1]
    found["again"] = _spent(lambda: curator.ask(sql, epsilon=0.1))
    found["preview"] = _spent(lambda: curator.preview(f"{sql}.5", epsilon=0.1))
    asked = [each for each in timed.statements if " FROM " in each]
    return found | _with_parameters(timed.connection, asked)


def _with_parameters(connection: Any, statements: list[str]) -> dict[str, Spent]:
    """The same statements again: as they are, with every number a parameter, and prepared."""
    plain, bound, prepared = [], [], []
    with connection._connection.cursor() as cursor:  # noqa: SLF001  # its own database
        for at, statement in enumerate(statements):
            values: list[Any] = []

            def real(match: re.Match[str], values: list[Any] = values) -> str:
                values.append(float(match[1]))
                return f"CAST(${len(values)} AS DOUBLE)"

            def whole(match: re.Match[str], values: list[Any] = values) -> str:
                values.append(int(match[0]))
                return f"CAST(${len(values)} AS BIGINT)"

            text = _WHOLES.sub(whole, _REALS.sub(real, statement))
            if cursor.execute(text, values).fetchall() != cursor.execute(statement).fetchall():
                raise AssertionError("the statement with parameters is another one")
            plain.append(_spent(lambda sql=statement: cursor.execute(sql).fetchall()))
            bound.append(_spent(lambda t=text, v=values: cursor.execute(t, v).fetchall()))
            cursor.execute(f"PREPARE question{at} AS {text}")
            written = (f"{x!r}::DOUBLE" if isinstance(x, float) else f"{x}::BIGINT" for x in values)
            run = f"EXECUTE question{at}({', '.join(written)})"
            prepared.append(_spent(lambda run=run: cursor.execute(run).fetchall()))
    return {"plain": _sum(plain), "bound": _sum(bound), "prepared": _sum(prepared)}


def _noise() -> Spent:
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

    return _median([_spent(noise) for _ in range(15)])


def _spent(call: Any) -> Spent:
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def _median(spent: list[Spent]) -> Spent:
    walls, cpus = zip(*spent, strict=True)
    return statistics.median(walls), statistics.median(cpus)


def _sum(spent: list[Spent]) -> Spent:
    walls, cpus = zip(*spent, strict=True)
    return sum(walls), sum(cpus)


if __name__ == "__main__":
    print("\n".join(asking_lines()[0]))
