"""A record that is replaced: three worlds, listed, and the curve that no three worlds pass."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import quaestor as q
from quaestor.accounting.releases import RELEASES, Repeated
from quaestor.accounting.releases.derived.two_changes import ReplacedRecord

if TYPE_CHECKING:
    from quaestor import Release

AT = (0.0, 0.1, 0.5, 1.0, 2.0)
World = list[Fraction]


def some_world(rng: random.Random, outcomes: int, *, empty: bool = False) -> World:
    parts = [rng.randint(0 if empty else 1, 12) for _ in range(outcomes)]
    parts[rng.randrange(outcomes)] += 1
    return [Fraction(part, sum(parts)) for part in parts]


def hockey_stick(first: World, second: World, at: float) -> float:
    odds = Fraction(math.exp(at))
    return float(sum(max(a - odds * b, Fraction(0)) for a, b in zip(first, second, strict=True)))


def detections(first: World, second: World) -> list[tuple[Fraction, Fraction]]:
    """The corners of the most that is detected of the first world, by false alarms."""
    outcomes = sorted(
        zip(first, second, strict=True),
        key=lambda pair: math.inf if pair[1] == 0 else pair[0] / pair[1],
        reverse=True,
    )
    corners = [(Fraction(0), Fraction(0))]
    for a, b in outcomes:
        corners.append((corners[-1][0] + b, corners[-1][1] + a))
    return corners


def height(corners: list[tuple[Fraction, Fraction]], at: Fraction) -> Fraction:
    """The curve through the corners: the largest at a place where it jumps."""
    best = Fraction(0)
    for (x, y), (u, v) in itertools.pairwise(corners):
        if x <= at <= u:
            best = max(best, v if u == x else y + (v - y) * (at - x) / (u - x))
    return best


def replaced(goes: World, nobody: World, at: float) -> float:
    """The largest delta that two worlds can have which are like the first to the one without."""
    away, back = detections(goes, nobody), detections(nobody, goes)
    places = {x for x, _ in back} | {Fraction(0), Fraction(1)}
    for x, _ in away:  # where the second of the two bends
        for (a, low), (b, high) in itertools.pairwise(back):
            if low <= x <= high and high > low:
                places.add(a + (b - a) * (x - low) / (high - low))
    odds = Fraction(math.exp(at))
    return float(max(height(away, height(back, a)) - odds * a for a in places))


def floats(world: World) -> tuple[float, ...]:
    return tuple(map(float, world))


@pytest.mark.parametrize("seed", range(20))
def test_two_listed_worlds_have_the_curve_of_both_changes(seed: int) -> None:
    rng = random.Random(seed)
    goes, nobody = (some_world(rng, rng.randint(2, 5), empty=seed % 2 == 0) for _ in range(2))
    if len(goes) != len(nobody):
        nobody = some_world(rng, len(goes), empty=seed % 2 == 0)
    release = q.ProbabilityVectors(p=floats(goes), q=floats(nobody)).with_record_replaced()
    for at in AT:
        truth = replaced(goes, nobody, at)
        found = q.compose(release).delta_bounds(epsilon=at)
        assert found.lower - 1e-12 <= truth <= found.upper + 1e-12
        assert found.upper <= truth + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_no_three_worlds_tell_more_than_a_replaced_record(seed: int) -> None:
    """Where nobody is, outcomes are equally likely: every order of a world is a record."""
    rng = random.Random(seed)
    outcomes = rng.randint(2, 5)
    nobody = [Fraction(1, outcomes)] * outcomes
    goes = some_world(rng, outcomes, empty=seed % 3 == 0)
    single = q.ProbabilityVectors(p=floats(goes), q=floats(nobody))
    release = single.with_record_replaced()
    once, twice = q.compose(release), q.compose(release * 2)
    others = [list(order) for order in itertools.permutations(goes)]
    for at in AT:
        truth = max(hockey_stick(goes, comes, at) for comes in others)
        assert once.delta(epsilon=at) >= truth - 1e-12
        assert once.delta_bounds(epsilon=at).lower <= truth + 1e-12  # one change occurs
        both = max(
            hockey_stick(
                [a * b for a in goes for b in goes], [a * b for a in comes for b in comes], at
            )
            for comes in others
        )
        assert twice.delta(epsilon=at) >= both - 1e-12


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rate", [0.05, 0.5])
def test_no_sample_with_one_person_or_another_tells_more_than_the_curve(
    seed: int, rate: float
) -> None:
    rng = random.Random(seed)
    outcomes = rng.randint(2, 4)
    nobody = [Fraction(1, outcomes)] * outcomes
    goes = some_world(rng, outcomes, empty=seed % 3 == 0)
    single = q.ProbabilityVectors(p=floats(goes), q=floats(nobody))
    curve = q.compose(q.PoissonSampledReplaceOne(release=single, rate=rate))
    by_changes = q.compose(q.PoissonSampled(release=single, rate=rate).with_record_replaced())
    share = Fraction(rate)

    def sampled(world: World) -> World:
        return [(1 - share) * a + share * b for a, b in zip(nobody, world, strict=True)]

    for at in AT:
        truth = max(
            hockey_stick(sampled(goes), sampled(list(comes)), at)
            for comes in itertools.permutations(goes)
        )
        assert curve.delta(epsilon=at) >= truth - 1e-12
        assert by_changes.delta(epsilon=at) >= truth - 1e-12


@pytest.mark.parametrize("seed", range(15))
def test_no_three_worlds_have_a_larger_divergence_than_a_replaced_record(seed: int) -> None:
    rng = random.Random(seed)
    outcomes = rng.randint(2, 5)
    goes, nobody, comes = (some_world(rng, outcomes) for _ in range(3))

    def divergence(first: World, second: World, order: float) -> float:
        terms = (
            float(a) ** order * float(b) ** (1 - order) for a, b in zip(first, second, strict=True)
        )
        return math.log(math.fsum(terms)) / (order - 1)

    pairs = ((goes, nobody), (nobody, goes), (comes, nobody), (nobody, comes))
    orders = (1.25, 2.0, 3.0, 6.0, 12.0)
    epsilons = tuple(
        max(divergence(*pair, order) for pair in pairs) * (1 + 1e-9) for order in orders
    )
    found = q.RenyiDP(orders=orders, epsilons=epsilons).with_record_replaced()
    assert isinstance(found, q.RenyiDP)
    for order, epsilon in zip(found.orders, found.epsilons, strict=True):
        assert epsilon >= divergence(goes, comes, order) * (1 - 1e-9)
        assert epsilon >= divergence(comes, goes, order) * (1 - 1e-9)


def test_divergences_of_gaussian_noise_are_those_of_twice_the_shift_where_orders_suffice() -> None:
    orders = tuple(1 + step / 8 for step in range(1, 400))
    once = q.RenyiDP(orders=orders[::4], epsilons=tuple(a / 8 for a in orders[::4]))
    twice = once.with_record_replaced()
    assert isinstance(twice, q.RenyiDP)
    for order, epsilon in zip(twice.orders, twice.epsilons, strict=True):
        assert epsilon >= order / 2 * (1 - 1e-12)
    truth = q.compose(q.ZeroConcentratedDP(rho=0.5)).epsilon(delta=1e-6)
    assert truth * (1 - 1e-9) <= q.compose(twice).epsilon(delta=1e-6) <= truth * 1.01


@pytest.mark.parametrize("seed", range(8))
def test_ranges_of_two_changes_add_up(seed: int) -> None:
    rng = random.Random(seed)
    spread, outcomes = rng.uniform(0.1, 2.0), rng.randint(2, 5)
    scores = [rng.uniform(0.0, 3.0) for _ in range(outcomes)]

    def moved() -> World:
        ends = [rng.choice((0.0, spread, rng.uniform(0.0, spread))) for _ in scores]
        masses = [math.exp(score + end) for score, end in zip(scores, ends, strict=True)]
        return [Fraction(mass / math.fsum(masses)) for mass in masses]

    release = q.BoundedRange(epsilon=spread).with_record_replaced()
    assert release == q.BoundedRange(epsilon=2 * spread)
    curve = q.compose(release)
    for _ in range(20):
        goes, comes = moved(), moved()
        for at in AT:
            assert curve.delta(epsilon=at) >= hockey_stick(goes, comes, at) - 1e-12
    widest = q.BoundedRange(epsilon=600.0).with_record_replaced()
    assert 1200.0 <= q.compose(widest).epsilon(delta=0.0) <= 1200.0001


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize("noise", [q.Gaussian(sigma=2.0), q.Laplace(scale=3.0)])
def test_points_of_known_noise_say_little_more_than_twice_its_shift(
    noise: Release, count: int
) -> None:
    found = q.compose(ReplacedRecord(release=noise) * count)
    truth = q.compose(noise.with_record_replaced() * count)
    for delta in (1e-3, 1e-6):
        exact = truth.epsilon_bounds(delta=delta)
        bounds = found.epsilon_bounds(delta=delta)
        assert bounds.lower <= exact.upper
        assert exact.lower <= bounds.upper <= exact.upper * 1.01


def test_a_black_box_is_what_two_changes_of_it_are() -> None:
    box = q.ApproxDP(epsilon=0.7, delta=1e-3)
    points, exact = ReplacedRecord(release=box), box.with_record_replaced()
    for at in AT:
        found = q.compose(points).delta_bounds(epsilon=at)
        truth = q.compose(exact).delta_bounds(epsilon=at)
        assert truth.lower - 1e-12 <= found.upper <= truth.upper + 1e-9


@pytest.mark.parametrize(
    "inner",
    [
        q.ShuffledEpoch(sigma=1.0, steps=10),
        q.SampledWithReplacement(release=q.Laplace(scale=2.0), sample=1, population=9),
        q.TruncatedPoissonGaussian(sigma=1.0, rate=0.1, batch=5, population=20),
    ],
)
def test_a_poisson_sample_of_what_counts_people_is_refused(inner: Release) -> None:
    with pytest.raises(q.InvalidParameter, match="release"):
        q.PoissonSampledReplaceOne(release=inner, rate=0.1)


PAGE = Path(__file__).parents[2] / "docs" / "theory" / "databases.md"


def test_the_page_says_of_every_kind_what_a_replaced_record_costs() -> None:
    rows = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    named = {name for row in rows for name in row.split("|")[1].replace("`", "").split(", ")}
    missing = {name for name in RELEASES if RELEASES[name] is not Repeated} - {
        name.strip() for name in named
    }
    assert not missing
