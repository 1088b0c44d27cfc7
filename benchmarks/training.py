"""Training and correlated noise beside jax_privacy: ``python -m benchmarks.training``.

Each measurement has a process of its own. jax_privacy hands its accounting to dp-accounting's PLD
accountant; its matrices run in JAX with 64-bit floats.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from benchmarks.machine import load, machine
from benchmarks.text import duration

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "training.md"

_PEOPLE, _BATCH, _STEPS, _SIGMA, _DELTA = 60_000, 600, 5_000, 1.0, 1e-6
_RATE = _BATCH / _PEOPLE
_CYCLE, _CAP = 10, 800
_TARGET = 2.0
_SIZE, _APART, _TIMES, _LONG = 400, 20, 10, 10_000
_RUNS = 3
_NOTES = f"""\
Written by `python -m benchmarks.training`; not edited by hand.

*Training* is {_STEPS:,} steps with noise {_SIGMA:g} and batches of {_BATCH} of {_PEOPLE:,} people:
epsilon at delta {_DELTA:g}. jax_privacy's accounting is dp-accounting's by privacy loss
distributions, with jax_privacy's own choices of event. *Matrices* are lower triangular with random
entries, {_SIZE} steps, people in at most {_TIMES} steps that are {_APART} apart: the sensitivity.
*Quaestor* is the upper end of a certified interval of the given *width*; jax_privacy's numbers are
floats without an error. *First* is the first call of a process after imports, *warm* the least of
{_RUNS} later ones, in seconds of CPU.
"""


_Call: TypeAlias = "Callable[[int], tuple[float, float | None]]"
"""The number of the call, and then what is said and how wide it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What somebody says, between which ends it lies if they say so, and what it took."""

    value: float
    width: float | None
    first: float
    warm: float
    memory: int


def main() -> None:
    """Measure all, or one case for one of the two."""
    if len(sys.argv) > 1:
        name, who = sys.argv[1:]
        print(json.dumps(asdict(_measured(_CASES[name][("quaestor", "jax_privacy").index(who)]()))))
        return
    before = load()
    libraries = ("quaestor-dp", "jax-privacy", "jax", "dp-accounting", "numpy")
    lines = ["# Training and matrices", "", _NOTES]
    lines += [f"- {name}: {value}" for name, value in machine(libraries).items()]
    rows = [_row(name) for name in _CASES]
    lines += [f"- load before, after: {before}, {load()}", ""]
    lines += [
        (
            "| case | quaestor | width | jax_privacy | difference | quaestor first | warm "
            "| jax_privacy first | warm | jax_privacy / ours | memory (MB) |"
        ),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        *_REMARKS,
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


def _row(name: str) -> str:
    ours, theirs = (_apart(name, who) for who in ("quaestor", "jax_privacy"))
    width = "-" if ours.width is None else f"{ours.width:.1e}"
    said = f"{ours.value:.9g} | {width} | {theirs.value:.9g}"
    times = (ours.first, ours.warm, theirs.first, theirs.warm)
    took = " | ".join(duration(seconds) for seconds in times)
    return (
        f"| {name} | {said} | {theirs.value / ours.value - 1:+.1e} | {took} "
        f"| {theirs.warm / ours.warm:.3g} | {ours.memory:,} / {theirs.memory:,} |"
    )


def _apart(name: str, who: str) -> _Found:
    command = [sys.executable, "-m", "benchmarks.training", name, who]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return _Found(**json.loads(done.stdout.splitlines()[-1]))


def _measured(call: _Call) -> _Found:
    """The answer to the first call, and what all took: each asks something a little different."""
    times, found = [], []
    for number in range(1 + _RUNS):
        start = time.process_time()
        found.append(call(number))
        times.append(time.process_time() - start)
    value, width = found[0]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return _Found(value=value, width=width, first=times[0], warm=min(times[1:]), memory=memory)


# What quaestor is asked: imports first, then the call.


def _epsilon(of: Callable[[Any], Any]) -> _Call:
    import quaestor

    def call(number: int) -> tuple[float, float | None]:
        found = quaestor.compose(of(quaestor)).epsilon_bounds(delta=_changed(_DELTA, number))
        return found.upper, found.upper - found.lower

    return call


def _sampled(quaestor: Any, *, steps: int, rate: float) -> Any:
    release = quaestor.Gaussian(sigma=_SIGMA)
    return quaestor.PoissonSampled(release=release, rate=rate) * steps


def _our_noise() -> _Call:
    import quaestor

    def steps(sigma: float) -> Any:
        release = quaestor.Gaussian(sigma=sigma)
        return quaestor.PoissonSampled(release=release, rate=_RATE) * _STEPS

    def call(number: int) -> tuple[float, float | None]:
        return quaestor.calibrate(steps, epsilon=_TARGET, delta=_changed(_DELTA, number)), None

    return call


def _our_sensitivity(**facts: Any) -> _Call:
    import quaestor

    banded = facts.pop("banded", False)
    matrix = _matrix(banded=banded)

    def call(number: int) -> tuple[float, float | None]:
        asked = _changed(matrix, number)
        found = quaestor.MatrixMechanism(sigma=1.0, matrix=asked, **facts).sensitivity_bounds()
        return found.upper, found.upper - found.lower

    return call


def _our_counting() -> _Call:
    import quaestor

    def call(number: int) -> tuple[float, float | None]:
        found = quaestor.ContinualCounting(
            sigma=1.0, steps=_LONG + number, participations=_TIMES, separation=_LONG // _TIMES
        ).sensitivity_bounds()
        return found.upper, found.upper - found.lower

    return call


# The same of jax_privacy.


def _their_epsilon(**facts: Any) -> _Call:
    accounting, accountant = _their_accountant()
    fixed = facts.pop("fixed", False)
    if fixed:
        facts["sampling_method"] = accounting.SamplingMethod.FIXED_BATCH_SIZE

    def call(number: int) -> tuple[float, float | None]:
        given = accounting.DpParams(
            noise_multipliers=_SIGMA,
            num_samples=_PEOPLE,
            delta=_changed(_DELTA, number),
            batch_size=_BATCH,
            **facts,
        )
        return float(accountant.compute_epsilon(_STEPS, given)), None

    return call


def _their_noise() -> _Call:
    accounting, accountant = _their_accountant()

    def call(number: int) -> tuple[float, float | None]:
        found = accounting.calibrate_noise_multiplier(
            target_epsilon=_TARGET,
            accountant=accountant,
            batch_sizes=_BATCH,
            num_updates=_STEPS,
            num_samples=_PEOPLE,
            target_delta=_changed(_DELTA, number),
            tol=1e-4,
        )
        return float(found), None

    return call


def _their_accountant() -> tuple[Any, Any]:
    from jax_privacy import accounting

    return accounting, accounting.DpsgdTrainingAccountant(accounting.PldAccountantConfig())


def _their_sensitivity(
    of: Callable[[Any, NDArray[np.float64]], Any], *, banded: bool = False
) -> _Call:
    sensitivity = _their_matrices("sensitivity")
    matrix = _matrix(banded=banded)
    return lambda number: (float(of(sensitivity, _changed(matrix, number))), None)


def _their_counting() -> _Call:
    toeplitz = _their_matrices("toeplitz")

    def call(number: int) -> tuple[float, float | None]:
        found = toeplitz.minsep_sensitivity_squared(
            toeplitz.optimal_max_error_strategy_coefs(_LONG + number),
            min_sep=_LONG // _TIMES,
            max_participations=_TIMES,
            n=_LONG + number,
        )
        return float(found) ** 0.5, None

    return call


def _their_matrices(name: str) -> Any:
    settings: Any = import_module("jax").config
    settings.update("jax_enable_x64", True)  # noqa: FBT003
    return import_module(f"jax_privacy.matrix_factorization.{name}")


def _changed(given: Any, number: int) -> Any:
    """A little more in every call: an answer that was kept is not the answer."""
    return given * (1 + number * 2.0**-30)


def _matrix(*, banded: bool) -> NDArray[np.float64]:
    import numpy as np

    entries = np.tril(np.random.default_rng(21).uniform(0, 1, (_SIZE, _SIZE)))
    return np.triu(entries, k=1 - _APART) if banded else entries


_APART_AND_TIMES = {"participations": _TIMES, "separation": _APART}
_CASES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "training, Poisson batches": (
        lambda: _epsilon(lambda q: _sampled(q, steps=_STEPS, rate=_RATE)),
        _their_epsilon,
    ),
    f"training, {_CYCLE} groups in turn": (
        lambda: _epsilon(lambda q: _sampled(q, steps=_STEPS // _CYCLE, rate=_CYCLE * _RATE)),
        lambda: _their_epsilon(cycle_length=_CYCLE),
    ),
    f"training, batches cut at {_CAP}": (
        lambda: _epsilon(
            lambda q: (
                q.TruncatedPoissonGaussian(sigma=_SIGMA, rate=_RATE, batch=_CAP, population=_PEOPLE)
                * _STEPS
            )
        ),
        lambda: _their_epsilon(truncated_batch_size=_CAP),
    ),
    "training, batches of fixed size": (
        lambda: _epsilon(
            lambda q: (
                q.SampledWithoutReplacement(
                    release=q.Gaussian(sigma=_SIGMA, sensitivity=2.0),
                    sample=_BATCH,
                    population=_PEOPLE,
                )
                * _STEPS
            )
        ),
        lambda: _their_epsilon(fixed=True),
    ),
    f"noise for epsilon {_TARGET:g}": (_our_noise, _their_noise),
    "matrix, once each": (
        _our_sensitivity,
        lambda: _their_sensitivity(lambda s, c: s.single_participation_sensitivity(c)),
    ),
    f"matrix, {_TIMES} times, {_APART} apart": (
        lambda: _our_sensitivity(**_APART_AND_TIMES),
        lambda: _their_sensitivity(
            lambda s, c: s.get_min_sep_sensitivity_upper_bound(
                c, min_sep=_APART, max_participations=_TIMES
            )
        ),
    ),
    f"{_APART} bands, {_TIMES} times, {_APART} apart": (
        lambda: _our_sensitivity(banded=True, **_APART_AND_TIMES),
        lambda: _their_sensitivity(
            lambda s, c: s.get_sensitivity_banded(c, min_sep=_APART, max_participations=_TIMES),
            banded=True,
        ),
    ),
    f"matrix, {_TIMES} epochs": (
        lambda: _our_sensitivity(participations=_TIMES, separation=_SIZE // _TIMES, periodic=True),
        lambda: _their_sensitivity(lambda s, c: s.fixed_epoch_sensitivity(c, epochs=_TIMES)),
    ),
    f"square roots, {_LONG:,} steps": (_our_counting, _their_counting),
}
_REMARKS = (
    "*Batches of fixed size* is under replacing one person, whose gradient changes by at most 2.",
    "jax_privacy takes Poisson batches with twice the sensitivity for it. That is our lower end:",
    "it is what steps of one direction lose; we know of no proof that mixing both loses no more.",
    "",
    "Half of the time of *matrix, once each* copies the matrix, so that nobody changes it later.",
    "Most of *matrix, 10 times, 20 apart* looks for the worst steps before each and after it:",
    "that upper end is lower than jax_privacy's, and has a lower end beside it.",
)


if __name__ == "__main__":
    main()
