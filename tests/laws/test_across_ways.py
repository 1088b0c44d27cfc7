"""Every way to the worst memberships agrees with listing them, and every bound lies above."""

from __future__ import annotations

import contextlib
import itertools
import random
from typing import TYPE_CHECKING

import pytest
from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

from quaestor import (
    AtMost,
    ContradictoryFacts,
    DiscreteGaussian,
    ExactlyOne,
    Gaussian,
    GaussianDP,
    Geometric,
    Implies,
    Laplace,
    PoissonSampled,
    ProbabilityVectors,
    PureDP,
    RandomizedResponse,
    Release,
    Staircase,
    Vectors,
    ZeroConcentratedDP,
    compose,
    compose_across,
)
from quaestor.accounting.curves.worst_of import Maximum
from quaestor.accounting.membership.comparison import Databases
from quaestor.accounting.membership.envelope import envelope
from quaestor.accounting.membership.facts import All, Fact
from quaestor.accounting.membership.greedy import by_numbers, most_revealing_first
from quaestor.accounting.membership.nested_limits import Forest
from quaestor.accounting.membership.release_order import kind_of, kind_outdoes, outdoes, ranked
from quaestor.accounting.membership.rules import resolve
from quaestor.accounting.membership.search import by_parts, every_membership
from quaestor.accounting.membership.worst_case import MembershipQuestion, WorstComparisons
from quaestor.accounting.releases import ApproxDP
from tests.laws.memberships import named, random_case
from tests.oracles.membership import hockey_stick

if TYPE_CHECKING:
    from quaestor.accounting.numerics.bounds import Bounds

NEIGHBOURS = ("add_remove", "replace", "replace_record")


def asked(databases: dict[str, list[Release]], fact: Fact, neighbours: str) -> MembershipQuestion:
    """The question that ``compose_across`` would ask."""
    sorted_out = Databases.of(databases)
    rules = resolve(fact, sorted_out.names)
    return MembershipQuestion(databases=sorted_out, rules=rules, neighbours=neighbours)


def curve(question: MembershipQuestion, found: WorstComparisons) -> Maximum:
    """The answer of one way alone."""
    profile = question.databases.profile
    assert found.upper is not None
    return Maximum(
        attained=[profile(each) for each in found.attained],
        upper=[profile(each) for each in found.upper],
    )


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_no_way_contradicts_the_list_of_all_memberships(seed: int, neighbours: str) -> None:
    databases, fact, _ = random_case(seed)
    question = asked(named(databases), fact, neighbours)
    forest = Forest.of(question.rules.caps)
    found = every_membership(question, forest)
    assert found is not None
    assert found.exact
    at = random.Random(seed).uniform(0.0, 0.5) * sum(e for steps in databases for e, _ in steps)
    truth = curve(question, found).delta_bounds(epsilon=at)
    if question.rules.listed is None:
        for way in (most_revealing_first, by_parts, by_numbers):
            other = way(question, forest)
            if other is not None:
                bounds = curve(question, other).delta_bounds(epsilon=at)
                assert bounds.lower <= truth.upper
                assert bounds.upper >= truth.lower
                assert not other.exact or bounds.relative_width <= 1e-9 or bounds.upper < 1e-12
    assert envelope(question, forest).delta_bounds(epsilon=at).upper >= truth.lower
    target = max(truth.upper, 1e-9)
    if target < 1.0:
        least = curve(question, found).epsilon_bounds(delta=target).lower
        assert envelope(question, forest).epsilon_bounds(delta=target).upper >= least


def test_every_way_is_exact_somewhere() -> None:
    seen: set[tuple[str, str]] = set()
    for seed, neighbours in itertools.product(range(1000, 1060), NEIGHBOURS):
        databases, fact, _ = random_case(seed)
        question = asked(named(databases), fact, neighbours)
        for way in (most_revealing_first, by_parts, by_numbers):
            found = way(question, Forest.of(question.rules.caps))
            if found is not None and found.exact and question.rules.listed is None:
                seen.add((way.__name__, neighbours))
    assert seen == {
        (way.__name__, neighbours)
        for way in (most_revealing_first, by_parts, by_numbers)
        for neighbours in NEIGHBOURS
        if (way, neighbours) != (by_numbers, "replace_record")
    }


# Nested limits.


def nested_limits(rng: random.Random) -> tuple[MembershipQuestion, list[float]]:
    """Databases of different value under limits that are nested and can be met."""
    while True:
        count = rng.randint(2, 9)
        names = [f"d{i}" for i in range(count)]
        facts: list[Fact] = [AtMost(rng.randint(0, count))]
        cut = rng.randint(1, count - 1)
        for group in (names[:cut], names[cut:], names[: max(cut // 2, 1)]):
            one = rng.random() < 0.2
            facts.append(ExactlyOne(of=group) if one else AtMost(rng.randint(0, count), of=group))
        values = [rng.uniform(0.1, 1.0) for _ in names]
        databases: dict[str, list[Release]] = {
            name: [PureDP(epsilon=value)] for name, value in zip(names, values, strict=True)
        }
        with contextlib.suppress(ContradictoryFacts):
            return asked(databases, All(*facts), "add_remove"), values


@pytest.mark.parametrize("seed", range(60))
def test_the_greedy_choice_under_nested_limits_is_the_best_place_by_place(seed: int) -> None:
    question, values = nested_limits(random.Random(seed))
    count = len(values)
    forest = Forest.of(question.rules.caps)
    assert forest.complete
    order = sorted(range(count), key=lambda i: -values[i])
    greedy = forest.greedy(order)
    assert question.rules.allows(greedy)
    best = sorted((values[i] for i in range(count) if greedy >> i & 1), reverse=True)
    for member in question.rules.memberships() or []:
        other = sorted((values[i] for i in range(count) if member >> i & 1), reverse=True)
        assert len(other) <= len(best)
        assert all(one <= two for one, two in zip(other, best, strict=False))
    halves = forest.halves(greedy)
    assert halves[0] | halves[1] == greedy
    assert not halves[0] & halves[1]
    for cap in forest.caps:
        sizes = [(half & cap.mask).bit_count() for half in halves]
        assert abs(sizes[0] - sizes[1]) <= 1


# Directions.


def dyadic(rng: random.Random, size: int) -> tuple[float, ...]:
    """Probabilities that are exact in binary."""
    cuts = sorted(rng.sample(range(1, 64), size - 1))
    return tuple((b - a) / 64 for a, b in zip([0, *cuts], [*cuts, 64], strict=True))


@pytest.mark.parametrize("seed", range(25))
def test_databases_that_lose_a_person_where_others_gain_one(seed: int) -> None:
    rng = random.Random(seed)
    count, most = rng.randint(2, 4), rng.randint(1, 2)
    few = [(dyadic(rng, 3), dyadic(rng, 3)) for _ in range(2)]
    pairs = [rng.choice(few) for _ in range(count)]
    answer = compose_across(
        {str(i): [ProbabilityVectors(p=p, q=q)] for i, (p, q) in enumerate(pairs)},
        membership=AtMost(most),
        neighbours="replace",
    )
    at = rng.uniform(0.0, 1.5)
    members = [b for b in itertools.product((0, 1), repeat=count) if sum(b) <= most]
    truth = mpf(0)
    for one, other in itertools.product(members, repeat=2):
        apart = [i for i in range(count) if one[i] != other[i]]
        laws = [[tuple(map(mpf, pairs[i][0 if b[i] else 1])) for i in apart] for b in (one, other)]
        truth = max(truth, hockey_stick(laws[0], laws[1], at))
    bounds = answer.delta_bounds(epsilon=at)
    assert answer.exact
    assert truth in bounds.widened(ulps=1)
    assert bounds.relative_width <= 1e-9 or bounds.upper < 1e-12


def test_many_directed_databases_under_one_limit_are_shared_out_exactly() -> None:
    sampled = PoissonSampled(release=Gaussian(sigma=2.0), rate=0.3)
    many: dict[str, list[Release]] = {f"d{i}": [sampled] for i in range(40)}
    answer = compose_across(many, membership=AtMost(2), neighbours="replace")
    few = compose_across(
        {f"d{i}": [sampled] for i in range(4)}, membership=AtMost(2), neighbours="replace"
    )
    assert answer.exact
    assert answer.delta_bounds(epsilon=1.0).overlaps(few.delta_bounds(epsilon=1.0))
    assert few.delta(epsilon=1.0) <= compose(sampled * 4).delta(epsilon=1.0) * (1 + 1e-3)


# The order of releases.

RELEASES: tuple[Release, ...] = (
    PureDP(epsilon=0.5),
    PureDP(epsilon=1.0),
    ApproxDP(epsilon=0.5, delta=1e-3),
    ApproxDP(epsilon=1.0, delta=1e-2),
    Laplace(scale=1.0),
    Laplace(scale=2.0),
    Laplace(scale=2.0, sensitivity=2.0),
    Geometric(scale=1.0, sensitivity=2),
    Geometric(scale=2.0, sensitivity=2),
    Geometric(scale=2.0),
    Gaussian(sigma=1.0),
    Gaussian(sigma=3.0, sensitivity=2.0),
    GaussianDP(mu=0.5),
    DiscreteGaussian(sigma=2.0),
    Staircase(epsilon=0.5),
    RandomizedResponse(epsilon=0.5, categories=3),
    RandomizedResponse(epsilon=1.0, categories=3),
    ZeroConcentratedDP(rho=0.1),
    ZeroConcentratedDP(rho=0.2),
    PoissonSampled(release=PureDP(epsilon=1.0), rate=0.2),
    PoissonSampled(release=PureDP(epsilon=0.5), rate=0.2),
    PoissonSampled(release=PureDP(epsilon=1.0), rate=0.4),
)


def test_what_outdoes_another_is_never_less() -> None:
    points = (0.0, 0.2, 0.45, 0.9, 1.5)
    curves: dict[Release, list[Bounds]] = {
        release: [compose(release).delta_bounds(epsilon=at) for at in points]
        for release in RELEASES
    }
    compared = 0
    for a, b in itertools.permutations(RELEASES, 2):
        if outdoes(a, b):
            compared += 1
            for more, less in zip(curves[a], curves[b], strict=True):
                assert more.upper >= less.lower, (a, b)
    assert compared >= 20


def test_a_ranking_is_a_chain() -> None:
    kinds = [kind_of([PureDP(epsilon=e) * n]) for e in (0.1, 0.2, 0.3) for n in (1, 2)]
    assert ranked(kinds) is None  # one of 0.3 and two of 0.1 cannot be compared
    chain = [kind_of([PureDP(epsilon=e), Gaussian(sigma=1 / e)]) for e in (0.3, 0.1, 0.2)]
    assert ranked(chain) == [0, 2, 1]
    for a, b in itertools.pairwise([chain[0], chain[2], chain[1]]):
        assert kind_outdoes(a, b)
        assert not kind_outdoes(b, a)


# Bounds where nothing exact is left.


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_a_bound_is_sound_and_says_so(neighbours: str) -> None:
    rng = random.Random(7)
    many = {
        f"d{i}": [ApproxDP(epsilon=rng.uniform(0.1, 1.0), delta=rng.uniform(0.0, 1e-4))]
        for i in range(3000)
    }
    answer = compose_across(many, membership=AtMost(3), neighbours=neighbours)
    assert not answer.exact
    assert answer.method.startswith("a sound bound")
    size = 3 if neighbours == "add_remove" else 6
    steps = [release for releases in many.values() for release in releases]
    largest = sorted(steps, key=lambda release: -release.epsilon)[:size]
    deltas = sorted((release.delta for release in steps), reverse=True)[:size]
    formula = compose(
        *(ApproxDP(epsilon=r.epsilon, delta=d) for r, d in zip(largest, deltas, strict=True))
    )
    bounds = answer.delta_bounds(epsilon=1.0)
    assert bounds.upper <= formula.delta(epsilon=1.0) * (1 + 1e-9)
    assert bounds.upper >= compose(*largest).delta_bounds(epsilon=1.0).lower
    worst = answer.worst(delta=1e-3)
    assert worst is not None
    assert len(worst.differing) == size


def test_different_kinds_of_noise_are_bounded_by_their_moments() -> None:
    many: dict[str, list[Release]] = {f"d{i}": [DiscreteGaussian(sigma=5.0 + i)] for i in range(40)}
    answer = compose_across(many, membership=AtMost(10))
    assert not answer.exact
    bounds = answer.epsilon_bounds(delta=1e-6)
    assert 0.5 * bounds.upper < bounds.lower < bounds.upper
    delta = answer.delta_bounds(epsilon=bounds.upper)
    assert delta.upper <= 1e-6 * (1 + 1e-6)
    assert delta.lower > 0


def test_two_chains_of_noise_are_counted_out() -> None:
    many: dict[str, list[Release]] = {
        f"d{i}": [Gaussian(sigma=5.0 + i) if i % 2 else Laplace(scale=3.0 + i)] for i in range(60)
    }
    answer = compose_across(many, membership=AtMost(5))
    assert answer.exact
    gaussians = [Gaussian(sigma=5.0 + i) for i in range(1, 60, 2)]
    laplaces = [Laplace(scale=3.0 + i) for i in range(0, 60, 2)]
    answers = [
        compose(*gaussians[:n], *laplaces[: 5 - n]).delta_bounds(epsilon=0.4) for n in range(6)
    ]
    bounds = answer.delta_bounds(epsilon=0.4)
    assert bounds.upper == max(each.upper for each in answers)
    assert bounds.lower == max(each.lower for each in answers)


def test_more_facts_never_cost_more() -> None:
    many: dict[str, list[Release]] = {f"d{i}": [PureDP(epsilon=0.01 * i)] for i in range(1, 31)}
    facts = (AtMost(10), AtMost(2, of=["d30", "d29", "d28"]), Implies("d30", "d1"))
    answers = [
        compose_across(many, membership=All(*facts[:n])).epsilon(delta=1e-6) for n in range(4)
    ]
    assert answers == sorted(answers, reverse=True)
    assert answers[0] > answers[1] > answers[2]


def test_vectors_too_many_to_compare_are_bounded_by_their_size() -> None:
    many: dict[str, list[Release]] = {f"d{i}": [PureDP(epsilon=0.01)] for i in range(3000)}
    vectors = [[f"d{i}", f"d{(7 * i + 1) % 3000}"] for i in range(2900)]
    answer = compose_across(many, membership=Vectors(vectors), neighbours="replace")
    assert not answer.exact
    with mp.workdps(30):
        assert abs(mpf(answer.epsilon(delta=0.0)) - mpf("0.04")) < 1e-9
