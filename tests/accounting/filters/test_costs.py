"""What releases cost: never below the truth, and hardly above it."""

from __future__ import annotations

import math
import random
import tomllib
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

from quaestor.accounting.filters import DeltaMeter, EpsilonMeter, MomentMeter, RangeMeter
from quaestor.accounting.releases import (
    ApproxDP,
    BoundedRange,
    DensityPair,
    DiscreteGaussian,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    Geometric,
    GraphSketch,
    Laplace,
    MatrixSketch,
    PoissonSampled,
    ProbabilityVectors,
    PureDP,
    RandomizedResponse,
    Release,
    SampledWithoutReplacement,
    Staircase,
    ZeroConcentratedDP,
)
from quaestor.accounting.releases.base import PureLoss
from quaestor.accounting.releases.derived.two_changes import TwoChanges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VECTORS = tomllib.loads(
    (Path(__file__).parents[2] / "vectors" / "filters.toml").read_text(encoding="utf-8")
)
ORDERS = (0.3, 1.0, 2.5, 17.0)


def of_vectors(p: Sequence[mpf], q: Sequence[mpf], order: mpf) -> mpf:
    """The log-moment of a pair of probability vectors, from the definition."""
    return mp.log(mp.fsum(a ** (order + 1) / b**order for a, b in zip(p, q, strict=True) if a))


def of_densities(
    p: Callable[[mpf], mpf], q: Callable[[mpf], mpf], order: mpf, cuts: Sequence[float]
) -> mpf:
    """The same of a pair of densities."""
    return mp.log(
        mp.fsum(
            mp.quad(lambda x: p(x) ** (order + 1) / q(x) ** order, [a, b])
            for a, b in pairwise(cuts)
        )
    )


def laplace(scale: float, order: float) -> mpf:
    b = mpf(scale)
    return of_densities(
        lambda x: mp.exp(-abs(x - 1) / b),
        lambda x: mp.exp(-abs(x) / b),
        mpf(order),
        [-60 * scale, 0, 1, 60 * scale],
    ) - mp.log(2 * b)


def geometric(scale: float, sensitivity: int, order: float) -> mpf:
    places = range(-int(60 * scale), int(60 * scale) + sensitivity)
    r = mp.exp(-1 / mpf(scale))
    one = [(1 - r) / (1 + r) * r ** abs(x - sensitivity) for x in places]
    return of_vectors(one, [(1 - r) / (1 + r) * r ** abs(x) for x in places], mpf(order))


def responses(epsilon: float, categories: int, order: float) -> mpf:
    odds = mp.exp(mpf(epsilon))
    p = [odds, *[mpf(1)] * (categories - 1)]
    whole = odds + categories - 1
    q = [mpf(1), odds, *[mpf(1)] * (categories - 2)]
    return of_vectors([x / whole for x in p], [x / whole for x in q], mpf(order))


def staircase(epsilon: float, order: float) -> mpf:
    """Shifted by one: integrate over the pieces on which both stairs are flat."""
    e = mpf(epsilon)
    gamma = 1 / (1 + mp.exp(e / 2))
    height = (1 - mp.exp(-e)) / (2 * (gamma + mp.exp(-e) * (1 - gamma)))

    def density(x: mpf) -> mpf:
        whole = mp.floor(abs(x))
        return height * mp.exp(-e * (whole + (abs(x) - whole >= gamma)))

    cuts = sorted({s * (k + g) for k in range(61) for g in (0, gamma) for s in (1, -1)})
    cuts = sorted({*cuts, *(x + 1 for x in cuts)})
    total = mpf(0)
    for a, b in pairwise(cuts):
        middle = (a + b) / 2
        total += (b - a) * density(middle - 1) ** (order + 1) / density(middle) ** order
    return mp.log(total)


def sampled_gaussian(sigma: float, rate: float, order: float, *, removing: bool) -> mpf:
    s, q = mpf(sigma), mpf(rate)

    def bell(x: mpf, at: int) -> mpf:
        return mp.exp(-((x - at) ** 2) / (2 * s**2)) / (s * mp.sqrt(2 * mp.pi))

    def mixed(x: mpf) -> mpf:
        return (1 - q) * bell(x, 0) + q * bell(x, 1)

    first, second = (mixed, lambda x: bell(x, 0)) if removing else (lambda x: bell(x, 0), mixed)
    reach = order + 2
    return of_densities(first, second, mpf(order), [-20, -5, 0, 1, reach, reach + 5, reach + 25])


def enclosed(cost: Fraction | None, truth: mpf) -> None:
    assert cost is not None
    exact = mpf(cost.numerator) / cost.denominator
    assert truth <= exact * (1 + mpf(10) ** -25)
    assert exact <= truth * (1 + mpf(10) ** -8) + mpf(10) ** -14


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 0.7, 4.0, 60.0])
def test_black_boxes_cost_the_moment_of_randomized_response(epsilon: float, order: float) -> None:
    with mp.workdps(60):
        truth = responses(epsilon, 2, order)
        enclosed(PureDP(epsilon=epsilon).log_moment(order), truth)
        enclosed(ApproxDP(epsilon=epsilon, delta=0.01).log_moment(order), truth)


@pytest.mark.parametrize("order", ORDERS)
def test_mechanisms_cost_the_moments_of_their_own_loss(order: float) -> None:
    with mp.workdps(30):
        enclosed(Laplace(scale=2.0).log_moment(order), laplace(2.0, order))
        truth = geometric(1.5, 3, order)
        enclosed(Geometric(scale=1.5, sensitivity=3).log_moment(order), truth)
        truth = responses(0.5, 7, order)
        enclosed(RandomizedResponse(epsilon=0.5, categories=7).log_moment(order), truth)
        enclosed(Staircase(epsilon=1.25).log_moment(order), staircase(1.25, order))
        truth = mpf(order) * (mpf(order) + 1) / (2 * mpf(3) ** 2)
        enclosed(Gaussian(sigma=3.0).log_moment(order), truth)
        enclosed(ZeroConcentratedDP(rho=0.25).log_moment(order), truth * 9 / 2)


@pytest.mark.parametrize("order", [0.5, 3.0, 8.0])
def test_a_sample_costs_the_worse_of_removing_and_adding(order: float) -> None:
    release = PoissonSampled(release=Gaussian(sigma=1.5), rate=0.1)
    with mp.workdps(20):
        truth = max(
            sampled_gaussian(1.5, 0.1, order, removing=removing) for removing in (True, False)
        )
        enclosed(release.log_moment(order), truth)


@pytest.mark.parametrize("order", ORDERS)
def test_vectors_cost_the_worse_direction_given_that_not_all_is_told(order: float) -> None:
    p, q = (0.5, 0.25, 0.1875, 0.0625), (0.25, 0.25, 0.5, 0.0)
    with mp.workdps(30):
        first, second = [mpf(x) for x in p[:3]], [mpf(x) for x in q[:3]]
        finite = of_vectors(first, second, mpf(order)) - mp.log(mp.fsum(first))
        turned = of_vectors(second, first, mpf(order))
        release = ProbabilityVectors(p=p, q=q)
        enclosed(release.log_moment(order), max(finite, turned))
        assert 0 <= release.pure_loss().delta - Fraction(1, 16) < Fraction(1, 2**50)


@pytest.mark.parametrize("case", VECTORS["range_moment"], ids=lambda case: case["id"])
def test_ranges_cost_the_published_moment(case: dict[str, str]) -> None:
    with mp.workdps(30):
        cost = BoundedRange(epsilon=float(case["range"])).log_moment(float(case["order"]))
        enclosed(cost, mpf(case["log_moment"]))


def test_ranges_cost_the_moment_of_the_worst_two_outcomes() -> None:
    rng = random.Random(5)
    for _ in range(40):
        spread, order = rng.uniform(0.01, 6), 10 ** rng.uniform(-1.5, 1.7)
        cost = BoundedRange(epsilon=spread).log_moment(order)
        with mp.workdps(30):
            found = mpf(0)
            for i in range(1, 200):
                t, e = mpf(spread) * i / 200, mpf(spread)
                first = mp.expm1(t - e) / mp.expm1(-e)
                moment = first * mp.exp(order * t) + (1 - first) * mp.exp(order * (t - e))
                found = max(found, mp.log(moment))
            assert cost is not None
            exact = mpf(cost.numerator) / cost.denominator
            assert found <= exact <= found * (1 + mpf(1) / 1000)


def test_discrete_gaussian_noise_costs_no_less_than_its_moments() -> None:
    for sigma, sensitivity in ((0.2, 1), (0.45, 2), (0.8, 1), (3.0, 2)):
        places = range(-int(40 * sigma) - 40, int(40 * sigma) + 40)
        with mp.workdps(40):
            p = [mp.exp(-(mpf(x - sensitivity) ** 2) / (2 * mpf(sigma) ** 2)) for x in places]
            q = [mp.exp(-(mpf(x) ** 2) / (2 * mpf(sigma) ** 2)) for x in places]
            whole = mp.fsum(q)
            for order in (0.3, 1.0, 2.5):
                truth = of_vectors([x / whole for x in p], [x / whole for x in q], mpf(order))
                release = DiscreteGaussian(sigma=sigma, sensitivity=sensitivity)
                cost = release.log_moment(order)
                assert cost is not None
                assert truth <= mpf(cost.numerator) / cost.denominator * (1 + mpf(10) ** -20)


def response_moment(epsilon: float, order: float) -> mpf:
    return responses(epsilon, 2, order)


def laplace_moment(epsilon: float, order: float) -> mpf:
    return laplace(1 / epsilon, order)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 3.0, 20.0])
def test_rhos_bound_all_moments_and_are_attained_at_small_orders(epsilon: float) -> None:
    cases: list[tuple[Release, Callable[[float, float], mpf]]] = [
        (PureDP(epsilon=epsilon), response_moment),
        (Laplace(scale=1 / epsilon), laplace_moment),
    ]
    with mp.workdps(40):
        for release, moment in cases:
            rho = release.concentrated_rho()
            assert rho is not None
            exact = mpf(rho.numerator) / rho.denominator
            for order in (1e-6, 0.01, 0.5, 2.0, 30.0):
                bound = exact * mpf(order) * (mpf(order) + 1)
                assert moment(epsilon, order) <= bound * (1 + mpf(10) ** -12)
            least = moment(epsilon, 1e-6) / (mpf(1e-6) * (1 + mpf(1e-6)))
            assert exact <= least * (1 + mpf(10) ** -3)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0, 100.0])
def test_the_mu_of_a_black_box_is_the_least_one_that_covers_it(epsilon: float) -> None:
    squared = PureDP(epsilon=epsilon).squared_mu()
    assert squared is not None
    with mp.workdps(80):
        mu = mp.sqrt(mpf(squared.numerator) / squared.denominator)

        def delta(at: mpf, mu: mpf) -> mpf:
            return mp.ncdf(mu / 2 - at / mu) - mp.exp(at) * mp.ncdf(-mu / 2 - at / mu)

        for i in range(20):
            at = mpf(epsilon) * i / 20
            told = (mp.exp(epsilon) - mp.exp(at)) / (1 + mp.exp(epsilon))
            assert told <= delta(at, mu) * (1 + mpf(10) ** -20)
        corner = mp.expm1(epsilon) / (1 + mp.exp(epsilon))  # the total variation
        assert delta(mpf(0), mu * (1 - mpf(10) ** -12)) < corner


def test_stated_epsilons_and_deltas_are_taken_as_they_are() -> None:
    assert PureDP(epsilon=0.1).pure_loss() == PureLoss(Fraction(0.1), Fraction(0))
    assert ApproxDP(epsilon=0.1, delta=1e-9).pure_loss() == PureLoss(Fraction(0.1), Fraction(1e-9))
    assert Staircase(epsilon=0.7).pure_loss() == PureLoss(Fraction(0.7), Fraction(0))
    assert RandomizedResponse(epsilon=0.7, categories=9).pure_loss() == PureLoss(
        Fraction(0.7), Fraction(0)
    )
    assert BoundedRange(epsilon=0.7).pure_loss() == PureLoss(Fraction(0.7), Fraction(0))
    assert ExponentialMechanism(epsilon=0.7, monotonic=True).pure_loss() == PureLoss(
        Fraction(0.35), Fraction(0)
    )


@pytest.mark.parametrize(
    "release",
    [
        Gaussian(sigma=1.0),
        GaussianDP(mu=0.1),
        ZeroConcentratedDP(rho=0.1),
        DiscreteGaussian(sigma=0.2),
        DiscreteGaussian(sigma=5.0),
        MatrixSketch(rows=4, weight=50.0),
        GraphSketch(rows=4, weight=50.0),
        PoissonSampled(release=Gaussian(sigma=1.0), rate=0.5),
    ],
    ids=str,
)
def test_what_has_no_bounded_loss_has_no_epsilon_and_tells_nothing_outright(
    release: Release,
) -> None:
    assert EpsilonMeter(limit=Fraction(1)).cost([release]) is None
    assert RangeMeter(limit=Fraction(1)).cost([release]) is None
    assert DeltaMeter(limit=Fraction(1)).cost([release]) == 0
    assert MomentMeter(order=1.0, limit=Fraction(1)).cost([release]) is not None


def test_quotients_and_samples_are_rounded_up_by_hardly_anything() -> None:
    third = EpsilonMeter(limit=Fraction(1)).cost([Laplace(scale=3.0)])
    assert third is not None
    assert 0 < third - Fraction(1, 3) < Fraction(1, 10**16)
    with mp.workdps(40):
        for release, truth in (
            (
                PoissonSampled(release=PureDP(epsilon=2.0), rate=0.25),
                mp.log1p(mp.expm1(2) / 4),
            ),
            (
                PoissonSampled(release=Laplace(scale=0.5), rate=0.25),
                mp.log1p(mp.expm1(2) / 4),
            ),
            (
                SampledWithoutReplacement(release=PureDP(epsilon=2.0), sample=1, population=4),
                mp.log1p(mp.expm1(2) / 4),
            ),
            (ProbabilityVectors(p=(0.5, 0.5), q=(0.125, 0.875)), mp.log(4)),
            (ProbabilityVectors(p=(0.125, 0.875), q=(0.5, 0.5)), mp.log(4)),
            (TwoChanges(epsilon=0.75, delta=0.0), mpf(1.5)),
        ):
            cost = release.pure_loss().epsilon
            assert cost is not None
            assert truth <= mpf(cost.numerator) / cost.denominator <= truth * (1 + mpf(10) ** -11)


def test_what_a_pair_of_densities_leaves_outside_counts_as_told() -> None:
    def bell(x: float, at: float) -> float:
        return math.exp(-((x - at) ** 2) / 2) / math.sqrt(2 * math.pi)

    pair = DensityPair.of(
        lambda x: bell(x, 0.1), lambda x: bell(x, 0.0), edges=[i / 8 for i in range(-40, 42)]
    )
    loss = pair.pure_loss()
    tails = [
        sum(math.erfc(far / math.sqrt(2)) / 2 for far in (5.125 - at, 5 + at)) for at in (0, 0.1)
    ]
    assert loss.epsilon is not None
    assert loss.epsilon >= Fraction(0.1 * 5 - 0.005)
    assert 0 <= loss.delta - Fraction(max(tails) * (1 - 1e-9)) < Fraction(1e-9)
