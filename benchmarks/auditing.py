"""How fast the composition experiment is played: ``python -m benchmarks.auditing``."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import load, machine

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "audits.md"

_RUNS = 1_000_000
_GOAL = 1e6  # rounds a second
_NOTES = """\
Written by `python -m benchmarks.auditing`; not edited by hand.

A million classic runs of one round each, in one process; the median of three. *Playing* is the
game alone; *audit* is the game, learning and choosing tests, and judging them. *Found* is the lower
bound on epsilon at a confidence of 99.9 %; *claimed* is what the accountant says at the same delta.
"""


def main() -> None:
    """Measure, show and keep."""
    from quaestor import mechanisms

    before = load()
    lines = ["# Auditing", "", _NOTES]
    lines += [f"- {name}: {value}" for name, value in machine().items()]
    rows = [
        _row(mechanisms.RandomizedResponse(epsilon=1.0), (0, 1)),
        _row(mechanisms.Geometric(scale=2.0), (0, 1)),
        _row(mechanisms.Laplace(scale=1.0), (0.0, 1.0)),
        _row(mechanisms.DiscreteGaussian(sigma=1.0), (0, 1)),
        _row(mechanisms.Gaussian(sigma=1.0), (0.0, 1.0)),
    ]
    lines += [f"- load before, after: {before}, {load()}", ""]
    lines += ["| target | playing, rounds a second | audit | found | claimed | delta | goal met |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | --- |", *rows]
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


def _row(mechanism: Any, neighbours: tuple[Any, Any]) -> str:
    from quaestor.audit import Experiment, always, audit

    game = Experiment(adversary=always(mechanism, neighbours))
    speed = _RUNS / _median(lambda: game.run(_RUNS))
    start = time.perf_counter()
    best = audit(mechanism, neighbours=neighbours, runs=_RUNS).best
    seconds = time.perf_counter() - start
    met = "yes" if speed >= _GOAL else "**no**"
    cells = (
        f"`{mechanism.loss}`",
        f"{speed:,.0f}",
        f"{seconds:.2f} s",
        f"{best.epsilon:.4f}",
        f"{best.claimed_epsilon:.4f}",
        f"{best.delta:g}",
        f"{met} (a million)",
    )
    return f"| {' | '.join(cells)} |"


def _median(call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
