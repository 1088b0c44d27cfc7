"""How fast noise is drawn, beside opendp: ``python -m benchmarks.sampling``."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.machine import load, machine

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "noise.md"

_MANY = 1_000_000
_PEERS_MANY = 100_000  # opendp's time grows with the length; the rest is multiplication
_SCALES = (20.0, 1e6)
_GOALS = {"a million": 50.0, "one": 5.0}
_NOTES = """\
Written by `python -m benchmarks.sampling`; not edited by hand.

Whole numbers with noise, `release` of each library from call to answer; the median of five. Both
draw exactly, from the operating system's randomness. opendp is given a tenth of the million, and
its time is multiplied by ten. Tables that quaestor keeps are warm; *table* is what the first draw
of a scale costs once.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One kind of noise at one scale and size: seconds of each."""

    noise: str
    size: str
    ours: float
    theirs: float
    table: float

    @property
    def ratio(self) -> float:
        """How many times faster."""
        return self.theirs / self.ours


def main() -> None:
    """Measure, show and keep."""
    before = load()
    rows = [row for scale in _SCALES for row in (*_laplace(scale), *_gaussian(scale))]
    lines = ["# Sampling", "", _NOTES]
    lines += [f"- {name}: {value}" for name, value in machine().items()]
    lines += [f"- opendp: {version('opendp')}"]
    lines += [f"- load before, after: {before}, {load()}", ""]
    lines += ["| noise | draws | quaestor | opendp | opendp / quaestor | table | goal met |"]
    lines += ["| --- | --- | ---: | ---: | ---: | ---: | --- |"]
    for row in rows:
        met = "yes" if row.ratio >= _GOALS[row.size] else "**no**"
        times = " | ".join(_shown(seconds) for seconds in (row.ours, row.theirs))
        goal = f"{met} (at least {_GOALS[row.size]:.0f})"
        cells = (row.noise, row.size, times, f"{row.ratio:,.0f}", _shown(row.table), goal)
        lines += [f"| {' | '.join(cells)} |"]
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


def _laplace(scale: float) -> tuple[Row, ...]:
    import opendp.prelude as dp

    from quaestor.mechanisms import Geometric

    dp.enable_features("contrib")
    single = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=scale)
    domain = dp.vector_domain(dp.atom_domain(T=int))
    several = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)
    return _rows(f"discrete Laplace, scale {scale:g}", Geometric(scale=scale), single, several)


def _gaussian(scale: float) -> tuple[Row, ...]:
    import opendp.prelude as dp

    from quaestor.mechanisms import DiscreteGaussian

    dp.enable_features("contrib")
    single = dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=float), scale=scale)
    domain = dp.vector_domain(dp.atom_domain(T=int))
    several = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    ours = DiscreteGaussian(sigma=scale, coordinates=1)
    return _rows(f"discrete Gaussian, sigma {scale:g}", ours, single, several)


def _rows(
    noise: str,
    ours: object,
    single: Callable[[int], int],
    several: Callable[[list[int]], list[int]],
) -> tuple[Row, ...]:
    import numpy as np

    release: Callable[[object], object] = ours.release  # type: ignore[attr-defined]
    zeros, fewer = np.zeros(_MANY, np.int64), [0] * _PEERS_MANY
    start = time.perf_counter()
    release(120)
    table = time.perf_counter() - start
    release(zeros)
    return (
        Row(
            noise=noise,
            size="a million",
            ours=_median(lambda: release(zeros)),
            theirs=_median(lambda: several(fewer)) * _MANY / _PEERS_MANY,
            table=table,
        ),
        Row(
            noise=noise,
            size="one",
            ours=_median(lambda: [release(120) for _ in range(5000)]) / 5000,
            theirs=_median(lambda: [single(120) for _ in range(500)]) / 500,
            table=table,
        ),
    )


def _median(call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def _shown(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


if __name__ == "__main__":
    main()
