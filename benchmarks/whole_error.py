"""How often intervals hold, and how wide they are: ``python -m benchmarks.whole_error``."""

from __future__ import annotations

import argparse
import csv
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.random import Generator

    from quaestor.curator.answers.answer import Answer

__all__ = ["SETTINGS", "Held", "Setting", "main", "simulated"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "whole-error.md"
_TIMES = 300
_EPSILON = 1.0
_NOTES = f"""\
Written by `python -m benchmarks.whole_error`; not edited by hand.

Every line is {_TIMES:,} answers of the same question to the same table, at epsilon {_EPSILON:g} and
confidence 0.95: the kernel's exact figures on DuckDB, with fresh noise each time. All units are
within the outer limits (ten times the inner ones, but where a line says otherwise); the truth is
what DuckDB says of the whole table. *Held* is how often the interval contains the truth, in the
group where that is rarest. *Half-width* is half the median length, in the group where that is
longest. *Times wider* is the longest whole interval by the longest noise interval of a group, and
the most that is promised, which the slow tests hold it to.
"""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A table with what is declared of it, a question, and how much wider intervals may be."""

    name: str
    rows: Callable[[Generator], Iterator[Row]]
    declared: str
    sql: str
    widest: float
    """The most that the whole interval is longer than the noise interval, as the docs say."""
    truth: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """How often the intervals of one figure held the truth, and how wide they were."""

    figure: str
    truth: float
    noise: float
    whole: float
    noise_width: float
    whole_width: float
    times: float


_COLUMNS = """
[tables.v.columns]
who = "integer"
region = { kind = "text", keys = ["a", "b", "c", "empty"] }
ward = { kind = "text", keys = ["w0", "w1", "w2", "w3", "w4", "w5"] }
cost = { kind = "real", low = 0, high = 100 }
"""


def _visits(
    units: int, law: Callable[[Generator, int], Any], value: Callable[..., float], most: int = 30
) -> Callable[[Generator], Iterator[Row]]:
    def rows(rng: Generator) -> Iterator[Row]:
        counts = np.clip(law(rng, units), 1, most)
        for who, count in enumerate(counts.tolist()):
            region = "a" if who % 10 else ("b" if who % 20 else "c")
            for _ in range(count):
                ward = f"w{(who + int(rng.integers(2))) % 6}"
                yield who, region, ward, float(np.clip(value(rng, count), 0, 1000))

    return rows


def _skewed(rng: Generator, units: int) -> Any:
    return rng.geometric(0.2, units)


def _clean(rng: Generator, units: int) -> Any:
    return rng.integers(1, 4, units)


def _pareto(rng: Generator, units: int) -> Any:
    return (rng.pareto(1.2, units) + 1).astype(int)


def _grows(rng: Generator, count: int) -> float:
    return float(rng.normal(10 * min(count, 9), 3))


def _heavy(rng: Generator, _count: int) -> float:
    return float(30 * rng.pareto(1.5))


def _limits(rows: int = 3, groups: int = 1, **outer: int) -> str:
    listed = "".join(f"{name} = {value}\n" for name, value in outer.items())
    return f"rows = {rows}\ngroups = {groups}\n{listed}"


_COUNT = "SELECT COUNT(*) AS n FROM v"
_BY_REGION = "SELECT region, COUNT(*) AS n FROM v GROUP BY region"
SETTINGS = (
    Setting(
        name="nothing cut, 300 units",
        rows=_visits(300, _clean, _grows),
        declared=_limits(),
        sql=_COUNT,
        widest=100,
    ),
    Setting(
        name="caps bite, 300 units",
        rows=_visits(300, _skewed, _grows),
        declared=_limits(),
        sql=_COUNT,
        widest=100,
    ),
    Setting(
        name="caps bite, 20,000 units",
        rows=_visits(20_000, _skewed, _grows),
        declared=_limits(),
        sql=_COUNT,
        widest=100,
    ),
    Setting(
        name="heavy tails, 20,000 units",
        rows=_visits(20_000, _pareto, _grows),
        declared=_limits(),
        sql=_COUNT,
        widest=100,
    ),
    Setting(
        name="caps bite, outer limit 10 rows",
        rows=_visits(2_000, _skewed, _grows, most=10),
        declared=_limits(outer_rows=10),
        sql=_COUNT,
        widest=30,
    ),
    Setting(
        name="one row a unit, outer = inner",
        rows=_visits(2_000, _clean, _grows, most=1),
        declared=_limits(rows=1, outer_rows=1),
        sql=_COUNT,
        widest=1,
    ),
    Setting(
        name="small and empty groups",
        rows=_visits(2_000, _skewed, _grows),
        declared=_limits(outer_groups=1),
        sql=_BY_REGION,
        widest=100,
    ),
    Setting(
        name="groups are dropped",
        rows=_visits(5_000, _skewed, _grows),
        declared=_limits(),
        sql="SELECT ward, COUNT(*) AS n, COUNT(DISTINCT who) AS units FROM v GROUP BY ward",
        widest=1_000,
    ),
    Setting(
        name="values grow with use",
        rows=_visits(20_000, _skewed, _grows),
        declared=_limits(),
        sql="SELECT AVG(cost) AS mean, SUM(cost) AS total FROM v",
        widest=400,
    ),
    Setting(
        name="bounds bite",
        rows=_visits(20_000, _clean, _heavy),
        declared=_limits(),
        sql="SELECT SUM(cost) AS total FROM v",
        widest=120,
    ),
    Setting(
        name="bounds and caps bite, a filter",
        rows=_visits(20_000, _skewed, _heavy),
        declared=_limits(),
        sql="SELECT COUNT(*) AS n, AVG(cost) AS mean FROM v WHERE cost > 20",
        widest=1_000,
    ),
    Setting(
        name="a key that bounds move",
        rows=_visits(5_000, _clean, _heavy),
        declared=_limits(groups=2),
        sql="SELECT CLAMP(FLOOR(cost / 50), 0, 2) AS band, COUNT(*) AS n FROM v GROUP BY band",
        truth="SELECT LEAST(FLOOR(cost / 50), 2) AS band, COUNT(*) AS n FROM v GROUP BY band",
        widest=700,
    ),
    Setting(
        name="a table with itself",
        rows=_visits(5_000, _clean, _grows, most=6),
        declared=_limits(rows=2) + "total_rows = 2\nouter_total_rows = 6\nouter_rows = 36\n",
        sql="SELECT COUNT(*) AS n FROM v JOIN v AS w ON v.who = w.who",
        widest=400,
    ),
)


def simulated(setting: Setting, *, times: int = _TIMES, seed: int = 1) -> list[Held]:
    """Ask one question so often, and see how often the intervals hold the truth."""
    import duckdb

    from quaestor.curator.answers.outputs import answer_of
    from quaestor.curator.catalog.catalog_file import read_catalog
    from quaestor.curator.engines.engine import engine_for
    from quaestor.curator.kernel.figures import drawn
    from quaestor.curator.pricing.priced_question import Budget, plan, price

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "v.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["who", "region", "ward", "cost"])
            writer.writerows(setting.rows(np.random.default_rng(seed)))
        text = 'ledger = "l.sqlite"\n\n[tables.v]\nfile = "v.csv"\nunit = "who"\n'
        (folder / "quaestor.toml").write_text(text + setting.declared + _COLUMNS)
        catalog = read_catalog(folder / "quaestor.toml")
        budget = Budget(epsilon=_EPSILON, whole_error=True)
        asked = price(plan(setting.sql, catalog), budget, catalog, delta=1e-6)
        engine = engine_for(catalog, ["v"])
        try:
            exact = engine.prepare(asked.offer.measurement).exact()
        finally:
            engine.close()
        duckdb.sql(f"CREATE OR REPLACE VIEW v AS FROM read_csv('{folder}/v.csv')")
        truths = duckdb.sql(setting.truth or setting.sql).fetchall()
    measurement = asked.offer.measurement
    answers = [answer_of(asked.query, asked.offer, drawn(measurement, exact)) for _ in range(times)]
    keyed = {str(row[0]): row[1:] for row in truths} if asked.query.keys else {}
    return list(_held(answers, keyed or truths[0]))


def _held(answers: Sequence[Answer], truths: Any) -> Iterator[Held]:
    figures = [column.name for column in answers[0].columns if column.figure]
    keys = [column for column in answers[0].columns if not column.figure]
    for at, name in enumerate(figures):
        columns = [answer.column(name) for answer in answers]
        groups = []
        for row in range(len(answers[0])):
            if keys:
                key = keys[0].values[row]
                said = truths.get(str(key)) or truths.get(f"{key}.0") or (0,) * len(figures)
            else:
                said = truths
            groups.append(_of_group(name, float(said[at]), columns, row))
        yield Held(
            figure=name,
            truth=groups[0].truth,
            noise=min(each.noise for each in groups),
            whole=min(each.whole for each in groups),
            noise_width=max(each.noise_width for each in groups),
            whole_width=max(each.whole_width for each in groups),
            times=max(each.times for each in groups),
        )


def _of_group(name: str, truth: float, columns: Sequence[Any], row: int) -> Held:
    noise = [(column.lower[row], column.upper[row]) for column in columns]
    whole = [(column.whole_lower[row], column.whole_upper[row]) for column in columns]
    lengths = [[high - low for low, high in each] for each in (noise, whole)]
    return Held(
        figure=name,
        truth=truth,
        noise=statistics.fmean(low <= truth <= high for low, high in noise),
        whole=statistics.fmean(low <= truth <= high for low, high in whole),
        noise_width=statistics.median(lengths[0]) / 2,
        whole_width=statistics.median(lengths[1]) / 2,
        times=max(lengths[1]) / max(lengths[0]),
    )


def _lines(times: int) -> Iterator[str]:
    heads = ("table and question", "figure", "truth", "noise interval: held", "half-width")
    more = ("whole error: held", "half-width", "times wider, at most")
    yield f"| {' | '.join((*heads, *more))} |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for setting in SETTINGS:
        for held in simulated(setting, times=times):
            yield (
                f"| {setting.name} | {held.figure} | {held.truth:,.6g} | {held.noise:.3f} "
                f"| {held.noise_width:,.4g} | {held.whole:.3f} | {held.whole_width:,.4g} "
                f"| {held.times:,.3g} of {setting.widest:,g} |"
            )


def main() -> None:
    """Simulate, show and keep."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whole_error", description=__doc__)
    parser.add_argument("--times", type=int, default=_TIMES)
    times = parser.parse_args().times
    lines = list(_lines(times))
    text = "\n".join(["# The whole error", "", _NOTES, *lines])
    print(text)
    if times == _TIMES:
        RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
