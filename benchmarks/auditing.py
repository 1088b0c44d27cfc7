"""How fast audits are, and what they find elsewhere: ``python -m benchmarks.auditing``.

diffprivlib 0.6.6 needs scikit-learn below 1.6, which the tests do not have. Install it into an
environment of its own, with ``quaestor-dp[curator]`` and opendp, and run this there. Where a peer
cannot be imported, the page says so.
"""

from __future__ import annotations

import statistics
import time
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import load, machine

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "audits.md"

_LIBRARIES = ("quaestor-dp", "python-flint", "numpy", "opendp", "diffprivlib", "scikit-learn")
_RUNS = 1_000_000
_GOAL = 1e6  # rounds a second
_NOTES = """\
Written by `python -m benchmarks.auditing`; not edited by hand.

A million classic runs of one round each, in one process; the median of three. *Playing* is the
game alone; *audit* is the game, learning and choosing tests, and judging them. *Found* is the lower
bound on epsilon at a confidence of 99.9 %; *claimed* is what the accountant says at the same delta.
"""

_OUTSIDE = """\
Sequential audits at a confidence of 99.9 % each, of at most 20,000 runs. *Lowest bits* are a known
weakness of noise that is drawn in floating point [Mironov 2012]; `Snapping` and whole numbers do
not have it."""
_INSIDE = """\
The method of arXiv:2602.17454 (`audit.record_play`): each algorithm runs on two neighbours, with
the same noise at every primitive. One pair of runs each. What is printed bold was looked into:

- `LinearRegression` of diffprivlib 0.6.6 declares too small a sensitivity for the squares of a
  feature: `_construct_regression_obj` takes the largest of the lower bound and, by a slip, the
  lower bound again, where the second should be the upper bound.
- diffprivlib has no single neighbouring relation. Its means, variances and models divide by the
  number of rows as if that were public, which fits a row that is replaced. `histogram` and `KMeans`
  count rows as if one were added or removed; if a row is replaced, the sum of what their calls lose
  is above the epsilon that was asked for. Whoever combines both kinds has neither guarantee.
- `median` of diffprivlib draws the index of an interval between two rows, and the curator draws
  private groups by their places in the engine's answer, which has another order in every run. That
  the same index or place names another row or group is how these mechanisms work; the method
  cannot judge them, and no fault is claimed. Private groups are audited from outside in the tests.
- `mean` and all that use it take the number of rows for public: with a row removed, the parameters
  of the noise show it."""
_TRAINING = """\
DP-SGD with noise of sigma 2, a rate of 1/2 and 8 steps; first by thousands of trainings, then by
one training with 1,000 canaries (`audit.audit_one_run`, confidence 95 %)."""
_SECTIONS = (
    (
        "Other libraries, from outside",
        _OUTSIDE,
        (("of_opendp", "outside"), ("of_diffprivlib", "outside")),
    ),
    (
        "A look inside: the curator and two peers",
        _INSIDE,
        (("of_curator", "inside"), ("of_opendp", "inside"), ("of_diffprivlib", "inside")),
    ),
    ("Training", _TRAINING, (("of_training", "outside"), ("of_training", "one_run"))),
)


def main() -> None:
    """Measure, show and keep."""
    from quaestor import mechanisms

    before = load()
    lines = ["# Auditing", "", _NOTES]
    installed = [name for name in _LIBRARIES if _is_installed(name)]
    lines += [f"- {name}: {value}" for name, value in machine(installed).items()]
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
    for title, notes, groups in _SECTIONS:
        lines += ["", f"## {title}", "", notes, "", "| target | claim | found |"]
        lines += ["| --- | --- | --- |", *(line for group in groups for line in _lines(*group))]
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


def _lines(module: str, name: str) -> list[str]:
    """The outcomes of one group, or that its library cannot be imported."""
    try:
        found = getattr(import_module(f"benchmarks.audited.{module}"), name)()
        return [outcome.line() for outcome in found]
    except ImportError as error:
        return [f"| {module.removeprefix('of_')} | | cannot be imported: {error.name} |"]


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


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
