"""Hypothesis DP: exact against every outcome, sound everywhere, and what the paper claims."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from math import comb, exp, inf
from typing import Any

import pytest
from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

from quaestor import (
    ApproxDP,
    Gaussian,
    Geometric,
    IndependentPrior,
    InvalidParameter,
    Laplace,
    MixturePrior,
    PointPrior,
    PoissonSampled,
    Prior,
    PureDP,
    RandomizedResponse,
    Release,
    SizePrior,
    Staircase,
    TheoremDoesNotApply,
    UniformPrior,
    UnknownDatabase,
    compose,
    compose_across,
    hypothesis_bounds,
)
from quaestor import hypothesis_bounds as bounds_of
from quaestor.accounting.hypothesis import _by_counting, _by_coupling, _by_listing, _by_sampling
from quaestor.accounting.hypothesis.transport import cheapest
from quaestor.accounting.membership.comparison import Databases
from quaestor.accounting.papers.membership_claims import (
    corollary_6,
    corollary_7,
    mixture_formula,
    refine_tuples,
    theorem_3,
)
from tests.laws.memberships import named
from tests.oracles.membership import Vector, mixture_delta, vectors
from tests.vectors import load
from tests.vectors.decimals import float_beside

CASES = load("hypothesis")
SOME = UniformPrior(at_least=1)


def cases(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] == kind]


def the(kind: str) -> dict[str, Any]:
    (case,) = (case for case in CASES if case["kind"] == kind)
    return case


# Recorded numbers.


@pytest.mark.parametrize("case", cases("uniform"))
def test_the_uninformative_prior_has_the_recorded_deltas(case: dict[str, Any]) -> None:
    for direction in ("of_alternative", "of_null"):
        ends = []
        for side, other in (("below", "above"), ("above", "below")):
            releases = [PureDP(epsilon=float_beside(case["epsilon"], side))] * case["count"]  # type: ignore[arg-type]
            known = bounds_of(releases, null=PointPrior(), alternative=SOME)
            at = float_beside(case["at"], other)  # type: ignore[arg-type]
            assert known.exact
            ends.append(getattr(known, direction).delta_bounds(epsilon=at))
        truth = Fraction(case[direction])
        assert ends[0].lower <= truth <= ends[1].upper
        assert ends[1].upper - ends[0].lower <= 1e-9 * truth


def test_two_mixtures_need_more_than_the_paper_says() -> None:
    case = the("two_mixtures")
    null, alternative = (
        {2: Fraction(3, 4), 1: Fraction(1, 4)},
        {2: Fraction(3, 4), 0: Fraction(1, 4)},
    )
    known = bounds_of(
        [PureDP(epsilon=3.0)] * 2,
        null=MixturePrior([(["2"], 3), (["1"], 1)]),
        alternative=MixturePrior([(["2"], 3), ([], 1)]),
    )
    assert known.exact
    truth = known.epsilon_bounds(delta=0.0)
    assert Fraction(case["exact"]) in truth
    assert truth.width < 1e-11
    pure = {0: 0.0, 1: 3.0, 2: 6.0}
    parts = [(w, pure[(a ^ b).bit_count()], 0.0) for a, b, w in refine_tuples(null, alternative)]
    claim = mixture_formula(parts, point=False)
    assert not claim.sound
    assert abs(Fraction(claim.epsilon) - Fraction(case["claim"])) < 1e-14
    assert claim.epsilon < truth.lower


def test_corollary_6_claims_too_small_a_delta_in_reverse() -> None:
    case = the("corollary_6")
    releases: list[Release] = [PureDP(epsilon=5.0), ApproxDP(epsilon=0.01, delta=0.1)]
    claim = corollary_6(releases)
    assert not claim.sound
    assert abs(Fraction(claim.epsilon) - Fraction(case["epsilon"])) < 1e-14
    assert abs(Fraction(claim.delta) - Fraction(case["delta"])) < 1e-16
    known = bounds_of(releases, null=PointPrior(), alternative=SOME)
    reverse = known.of_null.delta_bounds(epsilon=claim.epsilon)
    assert abs(Fraction(case["exact_reverse"]) - Fraction(reverse.upper)) < 1e-12
    assert reverse.lower > claim.delta
    assert known.delta(epsilon=claim.epsilon) >= reverse.upper


@pytest.mark.parametrize("case", cases("corollary_7"))
def test_corollary_7_is_what_the_paper_says_and_sound(case: dict[str, Any]) -> None:
    release = ApproxDP(epsilon=float(case["epsilon"]), delta=1e-3)
    claim = corollary_7(release, count=case["count"])
    assert claim.sound
    assert abs(Fraction(claim.epsilon) - Fraction(case["claim"])) < 1e-13
    assert abs(claim.delta - 1e-3 * float(case["delta_factor"])) < 1e-15
    known = bounds_of([release] * case["count"], null=PointPrior(), alternative=SOME)
    assert known.delta_bounds(epsilon=claim.epsilon).lower <= claim.delta


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 30), (0.5, 20), (1.0, 8)])
def test_exact_beats_theorem_3_which_beats_corollary_7_or_no_prior(
    epsilon: float, count: int
) -> None:
    releases = [PureDP(epsilon=epsilon)] * count
    exact = bounds_of(releases, null=PointPrior(), alternative=SOME).epsilon(delta=1e-6)
    claim = theorem_3(releases, delta=1e-6)
    assert claim.sound
    assert exact < claim.epsilon < compose(PureDP(epsilon=epsilon) * count).epsilon(delta=1e-6)


def test_the_paper_speaks_of_black_boxes_only() -> None:
    with pytest.raises(TheoremDoesNotApply, match="epsilon, delta"):
        theorem_3([Gaussian(sigma=1.0)], delta=1e-6)
    with pytest.raises(TheoremDoesNotApply, match="at least one"):
        corollary_6([])


# Brute force.


def random_prior(rng: random.Random, count: int) -> tuple[Prior, dict[Vector, Fraction]]:
    """A prior, and the same as weights of vectors that owe nothing to the library."""
    names = "abc"[:count]
    kind = rng.randrange(4)
    if kind == 0:
        vector = rng.choice(list(vectors(count)))
        point = PointPrior([n for n, bit in zip(names, vector, strict=True) if bit])
        return point, {vector: Fraction(1)}
    if kind == 1:
        some = rng.sample(list(vectors(count)), rng.randint(1, 2**count))
        weights = [rng.randint(1, 5) for _ in some]
        entries = [
            ([n for n, bit in zip(names, v, strict=True) if bit], w)
            for v, w in zip(some, weights, strict=True)
        ]
        total = sum(weights)
        return MixturePrior(entries), {
            v: Fraction(w, total) for v, w in zip(some, weights, strict=True)
        }
    if kind == 2:
        least = rng.randint(0, count)
        some = [v for v in vectors(count) if sum(v) >= least]
        return UniformPrior(at_least=least), {v: Fraction(1, len(some)) for v in some}
    rate = rng.choice([0.25, 0.5, 0.75])
    law = {
        v: Fraction(rate) ** sum(v) * (1 - Fraction(rate)) ** (count - sum(v))
        for v in vectors(count)
    }
    return IndependentPrior(rate=rate), law


@pytest.mark.parametrize("seed", range(60))
def test_both_directions_are_those_of_all_outcomes(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 3)
    databases = [
        [(rng.uniform(0.1, 2.5), rng.choice([0.0, rng.uniform(1e-4, 0.2)]))] for _ in range(count)
    ]
    (null, p0), (alternative, p1) = random_prior(rng, count), random_prior(rng, count)
    known = hypothesis_bounds(named(databases), null=null, alternative=alternative)
    assert known.exact
    at = rng.uniform(0.0, 1.5)
    forward = mixture_delta(databases, p1, p0, at)
    reverse = mixture_delta(databases, p0, p1, at)
    for profile, truth in ((known.of_alternative, forward), (known.of_null, reverse)):
        bounds = profile.delta_bounds(epsilon=at)
        assert bounds.lower - 1e-30 <= truth <= bounds.upper + 1e-30
        assert bounds.width <= 1e-9 * bounds.upper or bounds.upper < 1e-9
    worst = known.delta_bounds(epsilon=at)
    assert worst.upper >= max(forward, reverse)
    database = Databases.of(named(databases))
    coupled = _by_coupling(database, null, alternative)
    assert coupled is not None
    assert not coupled.exact
    assert coupled.delta(epsilon=at) >= max(forward, reverse) * (1 - mpf(10) ** -30)


@pytest.mark.parametrize("seed", range(10))
def test_epsilon_and_delta_are_inverse_to_each_other(seed: int) -> None:
    rng = random.Random(seed)
    releases = [ApproxDP(epsilon=rng.uniform(0.2, 1.5), delta=1e-5) for _ in range(3)]
    known = bounds_of(releases, null=PointPrior(["1"]), alternative=UniformPrior(at_least=2))
    target = 10 ** rng.uniform(-3, -1)
    epsilon = known.epsilon_bounds(delta=target)
    assert known.delta_bounds(epsilon=epsilon.upper).upper <= target
    assert epsilon.lower == 0.0 or known.delta_bounds(epsilon=epsilon.lower).lower >= target * 0.999
    assert known.epsilon(delta=0.0) == inf


def test_every_exact_way_overlaps_the_others() -> None:
    for epsilon, count in ((0.7, 4), (0.2, 9)):
        databases = Databases.of({str(i): [PureDP(epsilon=epsilon)] for i in range(count)})
        ways = [
            way(databases, PointPrior(), SOME) for way in (_by_sampling, _by_counting, _by_listing)
        ]
        for at in (0.0, 0.3, 0.9):
            for one, other in itertools.combinations([way for way in ways if way], 2):
                for direction in ("of_alternative", "of_null"):
                    first = getattr(one, direction).delta_bounds(epsilon=at)
                    assert first.overlaps(getattr(other, direction).delta_bounds(epsilon=at))
        assert ways[0] is not None
        assert ways[1] is not None


def test_how_many_doctors_is_decided_by_counting() -> None:
    """The paper's second example: fewer than so many databases, or at least so many."""
    count, threshold, epsilon, at = 12, 7, 0.3, 0.5
    known = bounds_of(
        [PureDP(epsilon=epsilon)] * count,
        null=UniformPrior(at_most=threshold - 1),
        alternative=UniformPrior(at_least=threshold),
    )
    assert known.method.startswith("exact (equal databases")
    with mp.workdps(40):
        truth = 1 / (1 + mp.exp(-mpf(epsilon)))

        def law(sizes: range) -> list[mpf]:
            total = sum(comb(count, m) for m in sizes)
            masses = [mpf(0)] * (count + 1)
            for m in sizes:
                for inside, outside in itertools.product(range(m + 1), range(count - m + 1)):
                    lies = m - inside + outside
                    mass = comb(m, inside) * comb(count - m, outside)
                    mass *= truth ** (count - lies) * (1 - truth) ** lies
                    masses[inside + outside] += mpf(comb(count, m)) / total * mass
            return masses

        low, high = law(range(threshold)), law(range(threshold, count + 1))
        factor = mp.exp(mpf(at))
        forward = mp.fsum(max(b - factor * a, 0) for a, b in zip(low, high, strict=True))
        reverse = mp.fsum(max(a - factor * b, 0) for a, b in zip(low, high, strict=True))
    assert forward in known.of_alternative.delta_bounds(epsilon=at)
    assert reverse in known.of_null.delta_bounds(epsilon=at)
    same = SizePrior({m: comb(count, m) for m in range(threshold)})
    again = bounds_of(
        [PureDP(epsilon=epsilon)] * count, null=same, alternative=UniformPrior(at_least=threshold)
    )
    assert again.delta_bounds(epsilon=at) == known.delta_bounds(epsilon=at)


def test_failures_are_bounded_from_both_sides() -> None:
    release, at = ApproxDP(epsilon=0.4, delta=0.01), 0.3
    null, alternative = UniformPrior(at_most=1), UniformPrior(at_least=2)
    databases = Databases.of({str(i): [release] for i in range(3)})
    known = _by_counting(databases, null, alternative)
    assert known is not None
    assert not known.exact
    few = {v: Fraction(1, 4) for v in vectors(3) if sum(v) <= 1}
    many = {v: Fraction(1, 4) for v in vectors(3) if sum(v) >= 2}
    steps = [[(0.4, 0.01)]] * 3
    for profile, truth in (
        (known.of_alternative, mixture_delta(steps, many, few, at)),
        (known.of_null, mixture_delta(steps, few, many, at)),
    ):
        bounds = profile.delta_bounds(epsilon=at)
        assert truth in bounds
        assert bounds.width <= 0.03
        epsilon = profile.epsilon_bounds(delta=bounds.upper)
        assert epsilon.lower <= at <= epsilon.upper * (1 + 1e-9)
    assert known.epsilon(delta=1e-3) == inf
    assert bounds_of([release] * 30, null=null, alternative=alternative).method.startswith(
        "a sound bound (equal databases"
    )


# Sampling.


@pytest.mark.parametrize(
    "release",
    [
        PureDP(epsilon=0.4),
        ApproxDP(epsilon=0.4, delta=1e-4),
        RandomizedResponse(epsilon=0.4, categories=3),
    ],
)
@pytest.mark.parametrize("rate", [0.5, 0.2])
def test_independent_memberships_are_sampling(release: Release, rate: float) -> None:
    known = bounds_of([release] * 6, null=PointPrior(), alternative=IndependentPrior(rate=rate))
    sampled = compose(PoissonSampled(release=release, rate=rate) * 6)
    for at in (0.05, 0.3, 0.8):
        assert known.delta_bounds(epsilon=at).overlaps(sampled.delta_bounds(epsilon=at))
    if rate == 0.5:
        uniform = bounds_of([release] * 6, null=PointPrior(), alternative=UniformPrior())
        assert uniform.delta_bounds(epsilon=0.3) == known.delta_bounds(epsilon=0.3)


def test_given_one_membership_at_least_the_prior_is_further_from_nobody() -> None:
    releases = [Staircase(epsilon=0.7), Geometric(scale=2.0, sensitivity=2), PureDP(epsilon=0.5)]
    some = bounds_of(releases, null=PointPrior(), alternative=SOME)
    any_ = bounds_of(releases, null=PointPrior(), alternative=UniformPrior())
    turned = bounds_of(releases, null=SOME, alternative=PointPrior())
    for at in (0.0, 0.2, 0.6):
        assert some.delta_bounds(epsilon=at).lower > any_.delta_bounds(epsilon=at).upper
        assert turned.delta_bounds(epsilon=at) == some.delta_bounds(epsilon=at)
    known = compose_across({str(i): [r] for i, r in enumerate(releases)})
    assert some.epsilon(delta=1e-3) < known.epsilon(delta=1e-3)
    assert some.delta(epsilon=some.epsilon(delta=1e-3)) <= 1e-3 * (1 + 1e-3)


def test_two_releases_of_one_database_share_its_coin() -> None:
    twice = {"a": [PureDP(epsilon=0.5)] * 2, "b": [PureDP(epsilon=0.5)]}
    known = bounds_of(twice, null=PointPrior(), alternative=UniformPrior())
    assert known.method == "exact (every outcome of both mixtures listed)"
    steps = [[(0.5, 0.0), (0.5, 0.0)], [(0.5, 0.0)]]
    uniform = {v: Fraction(1, 4) for v in vectors(2)}
    truth = mixture_delta(steps, uniform, {(0, 0): Fraction(1)}, 0.2)
    assert truth in known.of_alternative.delta_bounds(epsilon=0.2)


# Couplings.


@pytest.mark.parametrize("seed", range(20))
def test_the_cheapest_coupling_costs_what_the_best_matching_costs(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(2, 5)
    costs = {(a, b): rng.randint(0, 9) for a in range(size) for b in range(size)}
    weight = {i: Fraction(1, size) for i in range(size)}
    coupling = cheapest(weight, weight, lambda a, b: float(costs[a, b]))
    for i in range(size):
        assert sum(w for (a, _), w in coupling.items() if a == i) == weight[i]
        assert sum(w for (_, b), w in coupling.items() if b == i) == weight[i]
    total = sum(w * costs[pair] for pair, w in coupling.items())
    best = min(
        sum(costs[a, b] for a, b in enumerate(order))
        for order in itertools.permutations(range(size))
    )
    assert total == Fraction(best, size)


def test_large_priors_without_an_exact_way_are_coupled_by_size() -> None:
    releases: list[Release] = [Gaussian(sigma=10.0)] * 12
    null, alternative = UniformPrior(at_most=5), UniformPrior(at_least=6)
    known = bounds_of(releases, null=null, alternative=alternative)
    assert not known.exact
    epsilon = known.epsilon(delta=1e-5)
    assert 0.0 < epsilon < compose(Gaussian(sigma=10.0) * 12).epsilon(delta=1e-5)
    assert known.delta(epsilon=epsilon) <= 1e-5 * (1 + 1e-6)


def test_refined_tuples_are_a_coupling() -> None:
    null = {0: Fraction(1, 3), 1: Fraction(2, 3)}
    alternative = {2: Fraction(1, 2), 3: Fraction(1, 4), 0: Fraction(1, 4)}
    matched = refine_tuples(null, alternative)
    for key, weight in null.items():
        assert sum(w for a, _, w in matched if a == key) == weight
    for key, weight in alternative.items():
        assert sum(w for _, b, w in matched if b == key) == weight


# Mechanisms with few outcomes.


def test_randomized_response_over_categories_is_listed() -> None:
    known = bounds_of(
        [RandomizedResponse(epsilon=1.0, categories=4)] * 2,
        null=PointPrior(["1"]),
        alternative=PointPrior(["2"]),
    )
    truth = compose(RandomizedResponse(epsilon=1.0, categories=4) * 2)
    assert known.exact
    assert known.delta_bounds(epsilon=0.5).overlaps(truth.delta_bounds(epsilon=0.5))
    assert known.advantage().overlaps(truth.advantage())
    region = known.tradeoff()
    assert region.false_negative(false_positive=0.1) <= 1 - 0.1
    assert abs(known.epsilon(delta=0.0) - 2.0) < 1e-9
    assert exp(known.epsilon(delta=0.0)) >= exp(2.0)


# Bad input.


def test_priors_say_what_is_wrong_with_them() -> None:
    two = [PureDP(epsilon=1.0)] * 2
    with pytest.raises(UnknownDatabase, match="there is no database '3'"):
        bounds_of(two, null=PointPrior(["3"]), alternative=SOME)
    with pytest.raises(InvalidParameter, match="at_least must be at most 2"):
        bounds_of(two, null=PointPrior(), alternative=UniformPrior(at_least=3))
    with pytest.raises(InvalidParameter, match="size must be at most 2"):
        bounds_of(two, null=PointPrior(), alternative=SizePrior({3: 1}))
    with pytest.raises(InvalidParameter, match="alternative must be a prior"):
        bounds_of(two, null=PointPrior(), alternative=0.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="positive weight"):
        MixturePrior([(["1"], 0)])
    with pytest.raises(InvalidParameter, match="weight must be a number"):
        SizePrior({1: -1.0})
    with pytest.raises(InvalidParameter, match="pairs of names and weight"):
        MixturePrior([1])  # type: ignore[list-item]
    with pytest.raises(InvalidParameter, match="a list of names"):
        PointPrior("1")
    with pytest.raises(InvalidParameter, match="fewer, alike or comparable"):
        bounds_of(
            [Gaussian(sigma=1.0 + i) if i % 2 else Laplace(scale=1.0 + i) for i in range(20)],
            null=UniformPrior(at_most=4),
            alternative=UniformPrior(at_least=5),
        )
