"""What is measured: histories of black boxes, and histories of which more is known."""

from __future__ import annotations

from benchmarks.case import Case, Group, plain
from benchmarks.mechanisms import (
    BlackBox,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    Mechanism,
    SampledGaussian,
    SampledLaplace,
)

__all__ = ["BLACK_BOXES", "CASES", "WHITE_BOXES"]

_GOLDEN = 0.6180339887498949  # its multiples, modulo 1, are spread evenly and never meet


def _boxes(count: int, box: BlackBox, *, delta: float, at: float, slow: bool = False) -> Case:
    name = f"{count:,} x ({plain(box.epsilon)}, {plain(box.delta)})"
    groups = (Group(mechanism=box, count=count),)
    return Case(name=name, groups=groups, delta=delta, epsilon=at, slow=slow)


def _pure(*epsilons: float, count: int = 1) -> tuple[Group, ...]:
    return tuple(Group(mechanism=BlackBox(epsilon=each), count=count) for each in epsilons)


def _different(count: int, low: float, high: float, delta: float) -> tuple[Group, ...]:
    step = (high - low) / (count - 1)
    boxes = (BlackBox(epsilon=low + step * i, delta=delta) for i in range(count))
    return tuple(Group(mechanism=box) for box in boxes)


_HOMOGENEOUS = (
    _boxes(30, BlackBox(epsilon=0.1, delta=1e-8), delta=1e-6, at=2.0),
    _boxes(1_000, BlackBox(epsilon=0.1, delta=1e-12), delta=1e-6, at=20.0),
    _boxes(10_000, BlackBox(epsilon=0.1, delta=1e-12), delta=1e-6, at=95.0),
    _boxes(10**5, BlackBox(epsilon=0.1, delta=1e-12), delta=1e-6, at=640.0, slow=True),
    _boxes(10**6, BlackBox(epsilon=0.1, delta=1e-14), delta=1e-6, at=5400.0, slow=True),
    _boxes(10**9, BlackBox(epsilon=1e-4, delta=1e-16), delta=1e-6, at=20.0, slow=True),
)

_SMALL_DELTA = (
    _boxes(1_000, BlackBox(epsilon=0.1), delta=1e-12, at=27.0),
    _boxes(1_000, BlackBox(epsilon=0.1), delta=1e-40, at=46.0),
    _boxes(10**5, BlackBox(epsilon=0.01), delta=1e-12, at=27.0),
    _boxes(10**5, BlackBox(epsilon=0.01), delta=1e-40, at=47.0),
)

_HETEROGENEOUS = (
    Case(
        name="500 x 0.01 and 20 x 0.2",
        groups=(*_pure(0.01, count=500), *_pure(0.2, count=20)),
        delta=1e-6,
        epsilon=4.0,
    ),
    Case(
        name="40 different, 0.05 to 0.15",
        groups=_pure(*(0.05 + 0.1 * (i * _GOLDEN % 1) for i in range(40))),
        delta=1e-6,
        epsilon=2.5,
        why_slow="one line with few nodes: choosing it and certifying both ends take the time",
    ),
    Case(
        name="200 decimals, 0.01 to 0.20",
        groups=_pure(*(i / 100 for i in range(1, 21)), count=10),
        delta=1e-6,
        epsilon=9.0,
    ),
    Case(
        name="1,000 different, (0.01 to 0.2, 1e-10)",
        groups=_different(1_000, 0.01, 0.2, 1e-10),
        delta=1e-6,
        epsilon=24.0,
        slow=True,
    ),
    Case(
        name="10,000 different, (0.01 to 0.2, 1e-12)",
        groups=_different(10_000, 0.01, 0.2, 1e-12),
        delta=1e-6,
        slow=True,
    ),
    Case(
        name="100,000 different, (0.001 to 0.02, 1e-14)",
        groups=_different(100_000, 0.001, 0.02, 1e-14),
        delta=1e-6,
        slow=True,
        growing=True,
    ),
)


def _alike(
    name: str, mechanism: Mechanism, count: int, *, delta: float = 1e-6, why_slow: str = ""
) -> Case:
    groups = (Group(mechanism=mechanism, count=count),)
    return Case(name=f"{count:,} x {name}", groups=groups, delta=delta, why_slow=why_slow)


def _one_of_four(i: int) -> Mechanism:
    """One of four kinds, with parameters that never come again."""
    share = i * _GOLDEN % 1
    if i % 4 == 0:
        return Gaussian(sigma=40 + 40 * share)
    if i % 4 == 1:
        return Laplace(scale=20 + 40 * share)
    if i % 4 == 2:
        return SampledGaussian(sigma=1 + share, rate=0.01)
    return BlackBox(epsilon=0.01 + 0.09 * share, delta=1e-12)


_STEP = SampledGaussian(sigma=1, rate=0.01)
_SGD = "Gaussian(1) on a sample of 0.01"

_FIXED = (
    "a dozen nodes: nearly all of the time is the fixed cost of choosing a line and certifying "
    "both ends, some two milliseconds"
)

_EQUAL = (
    *(_alike("Gaussian(50)", Gaussian(sigma=50), 10**4, delta=10**-n) for n in (6, 12, 20, 40)),
    _alike("Laplace(20)", Laplace(scale=20), 1_000, why_slow=_FIXED),
    *(_alike(_SGD, _STEP, count) for count in (10**3, 10**4, 10**5)),
    _alike(_SGD, _STEP, 10**5, delta=1e-10),
    _alike(
        "Gaussian(0.5) on a sample of 0.1",
        SampledGaussian(sigma=0.5, rate=0.1),
        2,
        why_slow="two losses are far from a bell, and a certified line through them has thousands "
        "of nodes; a grid needs one convolution, for an upper end alone",
    ),
    _alike(
        "Gaussian(1) on a sample of 1e-4",
        SampledGaussian(sigma=1, rate=1e-4),
        100,
        why_slow="an epsilon of 0.006 needs a line with thousands of nodes; the grid of 1e-4 has "
        "a hundred points there, and is off by 2 %",
    ),
    _alike(
        "Laplace(1) on a sample of 0.1",
        SampledLaplace(scale=1, rate=0.1),
        10,
        why_slow="both ends are certified, on two lattices; a grid needs one, for the upper end",
    ),
    _alike("DiscreteGaussian(50)", DiscreteGaussian(sigma=50), 1_000, why_slow=_FIXED),
    _alike("Geometric(20)", Geometric(scale=20), 1_000, why_slow=_FIXED),
    _alike(
        "exponential mechanism of range 0.15",
        Exponential(epsilon=0.15),
        3_000,
        delta=1e-9,
        why_slow="analysts who adapt are bounded, which no peer does: to them it is pure, and "
        "their epsilon far larger",
    ),
)

_MIXED = (
    Case(
        name="500 Gaussian, 500 Laplace, 300 sampled, 100 black boxes",
        groups=(
            Group(mechanism=Gaussian(sigma=50), count=500),
            Group(mechanism=Laplace(scale=20), count=500),
            Group(mechanism=_STEP, count=300),
            Group(mechanism=BlackBox(epsilon=0.1, delta=1e-10), count=100),
        ),
        delta=1e-6,
    ),
    Case(
        name="1,000 different of these four kinds",
        groups=tuple(Group(mechanism=_one_of_four(i)) for i in range(1_000)),
        delta=1e-6,
        slow=True,
        why_slow="a fifth of the time makes and checks 1,000 releases, the rest is two lines, for "
        "removing and for adding a person, with 250 different integrals at some twenty nodes each",
    ),
)

BLACK_BOXES = _HOMOGENEOUS + _SMALL_DELTA + _HETEROGENEOUS
WHITE_BOXES = _EQUAL + _MIXED
CASES = BLACK_BOXES + WHITE_BOXES
