"""Curves in and out: Renyi divergences, rho, mu, points of profiles, groups."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

import quaestor as q
from quaestor.accounting.releases.derived.two_changes import TwoChanges
from quaestor.interop.curve_file import read_curve
from tests.cli.running import run_here

if TYPE_CHECKING:
    from pathlib import Path


def some_worlds(rng: random.Random, count: int, outcomes: int) -> list[list[float]]:
    """Probabilities of some outcomes in several worlds, each near the one before."""
    worlds = [[rng.uniform(0.5, 2.0) for _ in range(outcomes)]]
    for _ in range(count - 1):
        worlds.append([each * math.exp(rng.uniform(-0.6, 0.6)) for each in worlds[-1]])
    return [[each / math.fsum(world) for each in world] for world in worlds]


def renyi(first: list[float], second: list[float], order: float) -> float:
    total = math.fsum(a**order * b ** (1 - order) for a, b in zip(first, second, strict=True))
    return math.log(total) / (order - 1)


def exact_delta(first: list[float], second: list[float], *, times: int, at: float) -> float:
    """The hockey stick of a few independent copies, by listing every outcome."""
    total = []
    for outcome in itertools.product(range(len(first)), repeat=times):
        one = math.prod(first[i] for i in outcome)
        other = math.prod(second[i] for i in outcome)
        total.append(max(one - math.exp(at) * other, 0.0))
    return math.fsum(total)


@pytest.mark.parametrize("seed", range(25))
def test_renyi_divergences_at_a_few_orders_promise_no_less_than_the_pair_that_has_them(
    seed: int,
) -> None:
    rng = random.Random(seed)
    first, second = some_worlds(rng, 2, rng.randint(2, 4))
    orders = sorted(rng.sample([1.1, 1.5, 2.0, 3.0, 5.0, 9.0, 20.0, 64.0], rng.randint(1, 6)))
    epsilons = [
        max(renyi(first, second, a), renyi(second, first, a)) * (1 + 1e-12) + 1e-15 for a in orders
    ]
    release = q.RenyiDP(orders=tuple(orders), epsilons=tuple(epsilons))
    for times, at in itertools.product((1, 3), (0.0, 0.2, 1.0)):
        truth = exact_delta(first, second, times=times, at=at)
        assert q.compose(release * times).delta(epsilon=at) >= truth * (1 - 1e-9)


@pytest.mark.parametrize("times", [1, 40])
@pytest.mark.parametrize("at", [0.5, 2.0, 6.0])
def test_renyi_divergences_cost_no_more_than_the_best_of_their_orders(
    times: int, at: float
) -> None:
    orders, epsilons = (1.5, 2.0, 4.0, 8.0, 30.0), (0.01, 0.02, 0.03, 0.07, 0.3)
    with mp.workdps(30):
        best = min(
            mp.exp((mpf(a) - 1) * (times * mpf(e) - mpf(at)))
            * (1 - 1 / mpf(a)) ** (mpf(a) - 1)
            / mpf(a)
            for a, e in zip(orders, epsilons, strict=True)
        )
    bounds = q.compose(q.RenyiDP(orders=orders, epsilons=epsilons) * times).delta_bounds(epsilon=at)
    assert bounds.lower == 0.0
    assert bounds.upper <= best * (1 + 1e-2)  # the best order is looked for, not listed


@pytest.mark.parametrize("order", [2, 3, 8, 32])
@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.01), (0.7, 0.3), (5.0, 1e-3)])
def test_the_divergence_of_a_sampled_gaussian_is_the_binomial_sum(
    order: int, sigma: float, rate: float
) -> None:
    """[Mironov, Talwar, Zhang 2019, Section 3.3], for whole orders; removing is the worse way."""
    with mp.workdps(40):
        share, spread = mpf(rate), mpf(sigma)
        moment = mp.fsum(
            mp.binomial(order, k)
            * (1 - share) ** (order - k)
            * share**k
            * mp.exp((k * k - k) / (2 * spread * spread))
            for k in range(order + 1)
        )
        truth = 100 * mp.log(moment) / (order - 1)
    step = q.PoissonSampled(release=q.Gaussian(sigma=sigma), rate=rate)
    bounds = q.compose(step * 100).rdp(order=float(order))
    assert truth in bounds
    assert bounds.relative_width < 1e-6


@pytest.mark.parametrize("seed", range(15))
def test_the_divergence_of_probability_vectors_is_the_sum(seed: int) -> None:
    rng = random.Random(seed)
    first, second = some_worlds(rng, 2, 4)
    order = rng.choice([1.01, 1.7, 3.0, 25.0])
    truth = 6 * max(renyi(first, second, order), renyi(second, first, order))
    release = q.ProbabilityVectors(p=tuple(first), q=tuple(second))
    bounds = q.compose(release * 6).rdp(order=order)
    assert bounds.lower * (1 - 1e-9) <= truth <= bounds.upper * (1 + 1e-9)
    assert bounds.lower > truth * 0.999


def test_what_tells_something_outright_has_no_finite_divergence() -> None:
    spent = q.compose(q.ApproxDP(epsilon=0.1, delta=1e-9), q.Gaussian(sigma=1.0))
    for bounds in (spent.rdp(order=2.0), spent.rho(), spent.mu()):
        assert bounds.upper == math.inf
    assert spent.rdp(order=2.0).lower == math.inf


def test_gaussians_have_their_own_rho_and_mu() -> None:
    spent = q.compose(q.Gaussian(sigma=10.0) * 50, q.GaussianDP(mu=0.5))
    assert 0.75 / 2 in spent.rho()
    assert math.sqrt(0.75) in spent.mu()
    assert spent.rho().relative_width < 1e-6
    assert spent.mu().relative_width < 1e-6
    assert q.compose().rho() == q.compose().mu() == q.Bounds.exactly(0.0)


@pytest.mark.parametrize("order", [1.0, 0.5, math.nan, math.inf, -2.0])
def test_orders_are_above_one(order: float) -> None:
    with pytest.raises(q.InvalidParameter, match="order"):
        q.compose(q.Gaussian(sigma=1.0)).rdp(order=order)


# ------------------------------------------------------------------------- points of a profile


@pytest.mark.parametrize("seed", range(20))
def test_points_of_a_profile_promise_no_less_than_the_pair_that_has_them(seed: int) -> None:
    rng = random.Random(seed)
    first, second = some_worlds(rng, 2, rng.randint(2, 5))
    epsilons = sorted(rng.choice([0.0, rng.random(), 2 * rng.random()]) for _ in range(5))
    deltas = [
        max(exact_delta(first, second, times=1, at=at), exact_delta(second, first, times=1, at=at))
        * (1 + 1e-12)
        for at in epsilons
    ]
    release = q.PrivacyProfile(epsilons=tuple(epsilons), deltas=tuple(deltas))
    for times, at in itertools.product((1, 4), (0.0, 0.3, 1.0)):
        truth = exact_delta(first, second, times=times, at=at)
        assert q.compose(release * times).delta(epsilon=at) >= truth * (1 - 1e-9)
    for at, known in zip(epsilons, deltas, strict=True):
        assert q.compose(release).delta_bounds(epsilon=at).lower <= known * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-3), (2.0, 0.0), (0.0, 0.25), (30.0, 1e-9)])
def test_one_point_is_a_black_box(epsilon: float, delta: float) -> None:
    point = q.PrivacyProfile(epsilons=(epsilon,), deltas=(delta,))
    box = q.ApproxDP(epsilon=epsilon, delta=delta)
    for at in (0.0, 0.2, 1.0, 40.0):
        one, other = (q.compose(release * 7).delta_bounds(epsilon=at) for release in (point, box))
        assert one.overlaps(other)


@pytest.mark.parametrize("largest", [100.0, 200.0, 1000.0, 1e6])
def test_points_far_beyond_floats_leave_both_ends_true(largest: float) -> None:
    point = q.compose(q.PrivacyProfile(epsilons=(largest, 0.0), deltas=(0.0, 1.0)))
    box = q.compose(q.PureDP(epsilon=largest))
    for at in (0.0, 1.0, largest / 2):
        assert point.delta_bounds(epsilon=at).overlaps(box.delta_bounds(epsilon=at))
    for delta in (0.0, 1e-6, 0.5):
        found, truth = (each.epsilon_bounds(delta=delta) for each in (point, box))
        assert found.lower <= truth.upper
        assert truth.lower <= found.upper


def test_many_points_of_a_gaussian_are_nearly_the_gaussian() -> None:
    plain = q.compose(q.Gaussian(sigma=3.0))
    epsilons = tuple(i / 50 for i in range(120))
    deltas = tuple(plain.delta(epsilon=at) for at in epsilons)
    points = q.compose(q.PrivacyProfile(epsilons=epsilons, deltas=deltas) * 10)
    truth = q.compose(q.Gaussian(sigma=3.0) * 10).epsilon_bounds(delta=1e-5)
    found = points.epsilon_bounds(delta=1e-5)
    assert truth.lower <= found.upper <= truth.upper * 1.01


def test_a_profile_is_read_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    points = tmp_path / "curve.csv"
    points.write_text("epsilon,delta\n0.5,0.01\n1.0,0.0001\n", encoding="utf-8")
    assert read_curve(points) == q.PrivacyProfile(epsilons=(0.5, 1.0), deltas=(0.01, 0.0001))
    orders = tmp_path / "orders.csv"
    orders.write_text("order, epsilon\n2,0.1\n\n8,0.4\n", encoding="utf-8")
    assert read_curve(orders) == q.RenyiDP(orders=(2.0, 8.0), epsilons=(0.1, 0.4))
    run = run_here(monkeypatch, capsys)
    typed = run("epsilon", "--delta", "0.01", f"@{points} * 3", "Gaussian(sigma=5)", "--json")
    expected = q.compose(read_curve(points) * 3, q.Gaussian(sigma=5.0)).epsilon(delta=0.01)
    assert typed.json["epsilon"]["upper"] == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\n1,2\n",
        "epsilon,delta\n",
        "epsilon,delta\n1\n",
        "epsilon,delta\nx,1\n",
        "epsilon,delta\n1,2\n",
        "order,epsilon\n1,2\n",
        "order,epsilon\n2,1\n2,1\n",
    ],
)
def test_a_file_without_a_curve_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "curve.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(q.InvalidParameter):
        read_curve(path)
    with pytest.raises(q.InvalidParameter):
        read_curve(tmp_path / "missing.csv")


# ------------------------------------------------------------------------- groups


@pytest.mark.parametrize("seed", range(20))
def test_no_chain_of_worlds_tells_more_than_the_iterated_curve(seed: int) -> None:
    """Each step of a chain has a profile with these points; its ends are a group apart."""
    rng = random.Random(seed)
    size = rng.randint(2, 4)
    worlds = some_worlds(rng, size + 1, rng.randint(2, 5))
    epsilons = (0.0, 0.1, 0.3, 0.6, 1.0, 1.3)
    pairs = [*itertools.pairwise(worlds), *itertools.pairwise(worlds[::-1])]
    deltas = tuple(
        max(exact_delta(a, b, times=1, at=at) for a, b in pairs) * (1 + 1e-12) for at in epsilons
    )
    step = q.PrivacyProfile(epsilons=epsilons, deltas=deltas)
    group = q.compose(q.GroupPrivacy(release=step, size=size))
    for at in (0.0, 0.4, 1.0, 2.0):
        truth = exact_delta(worlds[0], worlds[-1], times=1, at=at)
        assert group.delta(epsilon=at) >= truth * (1 - 1e-9) - 1e-15


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-3), (1.0, 0.0), (0.1, 0.4), (2.0, 0.6)])
def test_two_changes_of_a_black_box_are_what_they_were(epsilon: float, delta: float) -> None:
    group = q.GroupPrivacy(release=q.ApproxDP(epsilon=epsilon, delta=delta), size=2)
    other = TwoChanges(epsilon=epsilon, delta=delta)
    for at in (0.0, 0.2, 0.5, 1.5):
        found = q.compose(group * 3).delta_bounds(epsilon=at)
        exact = q.compose(other * 3).delta_bounds(epsilon=at)
        assert exact.lower * (1 - 1e-6) - 1e-12 <= found.upper
        assert found.upper <= exact.upper * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize(
    "release",
    [
        q.Gaussian(sigma=3.0),
        q.Laplace(scale=4.0),
        q.Geometric(scale=4.0),
        q.DiscreteGaussian(sigma=3.0),
        q.GaussianDP(mu=0.3),
        q.ZeroConcentratedDP(rho=0.01),
    ],
    ids=str,
)
def test_noise_for_a_group_is_known_exactly_and_never_more_than_the_iterated_curve(
    release: q.Release,
) -> None:
    group = q.compose(q.GroupPrivacy(release=release, size=3))
    exact = release.with_group(3)
    assert exact is not None
    alone = q.compose(release)
    epsilons = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
    points = q.PrivacyProfile(
        epsilons=epsilons, deltas=tuple(alone.delta(epsilon=at) for at in epsilons)
    )
    iterated = q.compose(q.GroupPrivacy(release=points, size=3))
    for at in (0.0, 0.5, 1.0):
        found = group.delta_bounds(epsilon=at)
        assert found.overlaps(q.compose(exact).delta_bounds(epsilon=at))
        assert found.lower <= iterated.delta(epsilon=at)


@pytest.mark.parametrize("value", [0.1, 0.3, 1.1, 1 / 3, 5e-324 * 2**52, 1.7])
@pytest.mark.parametrize("size", [3, 7, 10])
def test_the_shift_of_a_group_is_never_rounded_down(value: float, size: int) -> None:
    """3 times 1.1, and others, are rounded down as floats."""
    exact = size * Fraction(value)
    wide = max(value, 1e-10)
    for release in (q.GaussianDP(mu=value), q.Gaussian(sigma=1.0, sensitivity=wide)):
        group = release.with_group(size)
        truth = size * release.known_mu()
        assert group is not None
        most, least = group.known_mu(), group.at_least().known_mu()
        assert most is not None
        assert least is not None
        assert least <= truth <= most
        assert most - least <= truth / 2**51
    laplace = q.Laplace(scale=1.0, sensitivity=wide).with_group(size)
    assert (laplace.known_epsilon() or 0) >= size * Fraction(wide)
    concentrated = q.ZeroConcentratedDP(rho=value).with_group(size)
    assert (concentrated.concentrated_rho() or 0) >= size * exact


def test_a_group_is_about_the_neighbours_of_its_release() -> None:
    sampled = q.PoissonSampled(release=q.Gaussian(sigma=2.0), rate=0.1)
    group = q.GroupPrivacy(release=sampled, size=2)
    assert group.neighbours == "add_remove"
    two, one = (q.compose(each).delta_bounds(epsilon=0.5) for each in (group, sampled))
    assert one.lower <= two.upper
    for size in (0, 1.5, 10**6):
        with pytest.raises(q.InvalidParameter, match="size"):
            q.GroupPrivacy(release=sampled, size=size)  # type: ignore[arg-type]
