"""Bounded range: exact where queries are fixed, closed forms where not, against oracles."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpc, mpf  # type: ignore[import-untyped, unused-ignore]

from quaestor import (
    BoundedRange,
    ExponentialMechanism,
    InvalidParameter,
    PureDP,
    Release,
    compose,
)
from quaestor.accounting.loss.laws.bounded_range import BoundedRangeLoss
from quaestor.accounting.ranges.best_tests import _bounded, _Place, contenders
from quaestor.accounting.ranges.non_adaptive import NonAdaptiveRange
from quaestor.accounting.theorems import bounded_range as theorems
from quaestor.accounting.theorems.losses import privacy_loss
from quaestor.errors import TheoremDoesNotApply
from tests.oracles import bounded_range as oracle
from tests.vectors import load
from tests.vectors.decimals import float_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from quaestor.accounting.curves.profile import Profile

WIDTH = 1e-12
SMALLEST = 1e-280
CLOSED_FORMS: dict[str, Callable[[Iterable[Release]], Profile]] = {
    "durfee_rogers": theorems.durfee_rogers,
    "optimal_divergence": theorems.optimal_divergence,
    "range_moments": theorems.range_moments,
    "sharp_range_moments": theorems.sharp_range_moments,
}
Case = dict[str, Any]
FIGURE = [pytest.param(case, id=case["id"]) for case in load("bounded_range_figure")]
every_form = pytest.mark.parametrize("name", CLOSED_FORMS)


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def some_at(rng: random.Random, total: float) -> float:
    """A global epsilon: at 0, where deltas are of interest, anywhere, or almost at the end."""
    small = total * rng.random() ** 3
    return rng.choice([0.0, small, small, rng.uniform(0, total), 0.9999 * total])


# ------------------------------------------------------------------------- the non-adaptive optimum


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["id"]) for case in load("bounded_range")]
)
def test_bounds_contain_the_recorded_delta(case: Case) -> None:
    epsilon, at, truth = case["epsilon"], case["at"], Fraction(case["expected"])
    low = NonAdaptiveRange(count=case["count"], epsilon=float_beside(epsilon, "below"))
    high = NonAdaptiveRange(count=case["count"], epsilon=float_beside(epsilon, "above"))
    lower = low.delta_bounds(epsilon=float_beside(at, "above")).lower
    upper = high.delta_bounds(epsilon=float_beside(at, "below")).upper
    assert lower <= truth <= upper
    assert Fraction(upper) - Fraction(lower) <= truth / 10**12


@pytest.mark.parametrize("case", FIGURE)
def test_epsilons_agree_with_the_recorded_figure(case: Case) -> None:
    profile = NonAdaptiveRange(count=case["count"], epsilon=case["epsilon"])
    bounds = profile.epsilon_bounds(delta=case["target"])
    assert bounds.relative_width <= WIDTH
    assert abs(bounds.upper / case["non_adaptive"] - 1) <= 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_delta_contains_the_printed_theorem_in_a_thousand_cases(seed: int) -> None:
    rng = random.Random(seed)
    for i in range(25):
        count = rng.randint(1, 60 if i == 0 else 12)
        epsilon = log_uniform(rng, 1e-8, 100.0 if count < 6 else 5.0)
        at = some_at(rng, count * epsilon)
        bounds = NonAdaptiveRange(count=count, epsilon=epsilon).delta_bounds(epsilon=at)
        assert oracle.non_adaptive_delta(epsilon=epsilon, count=count, at=at) in bounds
        assert bounds.relative_width <= WIDTH or bounds.upper <= SMALLEST


@pytest.mark.parametrize("seed", range(6))
def test_no_unequal_choice_of_losses_beats_the_optimum(seed: int) -> None:
    rng = random.Random(seed)
    count, epsilon = rng.randint(2, 4), log_uniform(rng, 0.05, 3.0)
    at = rng.uniform(0, 0.7) * count * epsilon
    bounds = NonAdaptiveRange(count=count, epsilon=epsilon).delta_bounds(epsilon=at)
    found = oracle.climbed_delta(epsilons=[epsilon] * count, at=at)
    assert 0.97 * bounds.lower <= found <= bounds.upper


def test_twelve_releases_with_equal_losses_attain_the_optimum() -> None:
    count, epsilon, at = 12, 0.5, 1.5
    with mp.workdps(30):
        deltas = [
            oracle.outcome_delta(epsilons=[epsilon] * count, places=[place] * count, at=at)
            for place in ((mpf(at) + (test + 1) * mpf(epsilon)) / (count + 1) for test in (3, 4))
        ]
    bounds = NonAdaptiveRange(count=count, epsilon=epsilon).delta_bounds(epsilon=at)
    assert bounds.widened(ulps=1).lower <= max(deltas) <= bounds.widened(ulps=1).upper


@pytest.mark.parametrize("epsilon", [1e-8, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.9, 1.0, 1.5])
def test_one_release_is_the_single_profile(epsilon: float, share: float) -> None:
    at = epsilon * share
    fixed = NonAdaptiveRange(count=1, epsilon=epsilon).delta_bounds(epsilon=at)
    single = compose(BoundedRange(epsilon=epsilon)).delta_bounds(epsilon=at)
    assert fixed.overlaps(single)
    if share < 1.0:
        truth = oracle.single_delta(epsilon=epsilon, at=at)
        for bounds in (fixed, single):
            assert bounds.lower <= truth * (1 + mpf(10) ** -40)
            assert bounds.upper >= truth
    else:
        assert fixed.upper <= SMALLEST


@pytest.mark.parametrize("count", [10**3, 10**4, 10**6, 10**9])
@pytest.mark.parametrize("epsilon", [1e-8, 1e-2, 1.0, 30.0])
def test_many_releases_are_answered_narrowly_and_in_order(count: int, epsilon: float) -> None:
    profile = NonAdaptiveRange(count=count, epsilon=epsilon)
    mean, spread = count * epsilon * math.tanh(epsilon / 4) / 2, epsilon * math.sqrt(count) / 2
    ats = [min(mean + z * spread, 0.999 * count * epsilon) for z in (1.0, 3.0, 6.0)]
    found = [profile.delta_bounds(epsilon=at) for at in ats]
    assert all(bounds.relative_width <= 1e-9 for bounds in found if bounds.upper > SMALLEST)
    for left, right in itertools.pairwise(found):
        assert left.upper >= right.lower
    more = NonAdaptiveRange(count=count + 1, epsilon=epsilon).delta_bounds(epsilon=ats[1])
    assert more.upper >= found[1].lower
    black_box = compose(PureDP(epsilon=epsilon) * count).delta_bounds(epsilon=ats[1])
    assert black_box.upper >= found[1].lower


@pytest.mark.parametrize("seed", range(60))
def test_epsilon_undoes_delta(seed: int) -> None:
    rng = random.Random(seed)
    count, epsilon = round(log_uniform(rng, 1, 10**5)), log_uniform(rng, 1e-4, 3.0)
    target = log_uniform(rng, 1e-30, 0.5)
    profile = NonAdaptiveRange(count=count, epsilon=epsilon)
    bounds = profile.epsilon_bounds(delta=target)
    assert profile.delta_bounds(epsilon=bounds.upper).upper <= target
    if bounds.lower > 0.0:
        assert profile.delta_bounds(epsilon=bounds.lower).lower > target
    assert bounds.relative_width <= WIDTH


def test_the_ends_of_the_curve() -> None:
    profile = NonAdaptiveRange(count=5, epsilon=0.25)
    assert profile.delta_bounds(epsilon=1.25).upper == 0.0
    assert profile.delta_bounds(epsilon=math.inf).upper == 0.0
    assert profile.epsilon_bounds(delta=0.0).upper == 1.25
    assert profile.epsilon_bounds(delta=1.0).upper == 0.0
    assert profile.epsilon_bounds(delta=0.9).upper == 0.0
    supports = list(profile.supports(10))
    assert supports == sorted(supports)
    assert supports[0] == 0.0
    assert supports[-1] == 1.25


# ------------------------------------------------------------------------- ruling tests out


def slow_ratio(place: _Place, c: mpf) -> mpf:
    """Q(c) by its definition."""
    e, at, n = mpf(place.epsilon), mpf(place.at), place.count + 1
    last = (at + (c + 1) * e) / n

    def integrand(theta: mpf) -> mpf:
        t = (at + (c + theta) * e) / n
        first = (mp.exp(e) - mp.exp(t)) / (mp.exp(e) - mp.exp(last))
        ratio = first ** (place.count - c) * (mp.expm1(t) / mp.expm1(last)) ** c
        return ratio * mp.expm1(-theta * e) / mp.expm1(-t)

    return c * e / n / -mp.expm1(last - e) * mp.quad(integrand, [0, 1])


@pytest.mark.parametrize("seed", range(12))
def test_the_ratio_of_neighbouring_tests_is_enclosed_and_its_slope_bounded(seed: int) -> None:
    rng = random.Random(seed)
    count, epsilon = rng.randint(3, 40), log_uniform(rng, 1e-6, 20.0)
    place = _Place.of(count, epsilon, some_at(rng, count * epsilon) * 0.9)
    if place.last < 2:
        place = _Place.of(count, epsilon, 0.0)
    with mp.workdps(40):
        slow = {c: mp.log(slow_ratio(place, mpf(c))) for c in range(1, place.last + 1)}
    steps = _bounded(place, np.array(list(slow)))
    for c, lower, upper in zip(*steps, strict=True):
        assert lower <= slow[int(c)] <= upper
    room = count - mpf(place.at) / mpf(epsilon)
    for left, right in itertools.combinations(slow, 2):
        near = (count - left) / mpf(left) * (right - left) / (room - right)
        assert slow[right] >= slow[left] - near


def test_the_step_to_the_next_test_is_what_the_ratio_says() -> None:
    count, epsilon, at = 9, mpf("0.75"), mpf(2)
    with mp.workdps(40):

        def gain(test: int) -> tuple[mpf, mpf]:
            t = (at + (test + 1) * epsilon) / (count + 1)
            q, p = oracle.two_point_pair(epsilon, t)
            terms = (
                mp.binomial(count, i)
                * (q ** (count - i) * (1 - q) ** i - mp.exp(at) * p ** (count - i) * (1 - p) ** i)
                for i in range(test + 1)
            )
            return mp.fsum(terms), q

        for c in range(1, 6):
            (before, _), (after, q) = gain(c - 1), gain(c)
            above = epsilon - (at + (c + 1) * epsilon) / (count + 1)
            scale = mp.binomial(count, c) * q ** (count - c) * (1 - q) ** c * -mp.expm1(-above)
            ratio = slow_ratio(_Place.of(count, float(epsilon), float(at)), mpf(c))
            assert abs(after - before - scale * (1 - ratio)) < mpf(10) ** -25


def test_hardly_any_test_is_left_even_among_a_billion() -> None:
    for count, epsilon, share in itertools.product(
        [10, 1000, 10**6, 10**9], [1e-8, 0.1, 1.0, 5.0], [0.0, 0.1, 0.3, 0.6, 0.9]
    ):
        tests, complete = contenders(count=count, epsilon=epsilon, at=share * count * epsilon)
        assert complete
        assert 1 <= len(tests) <= 4


def test_where_floats_cannot_tell_tests_apart_the_answer_is_wide_but_true() -> None:
    bounds = NonAdaptiveRange(count=10**4, epsilon=300.0).delta_bounds(epsilon=0.0)
    assert bounds.upper == 1.0
    assert bounds.lower >= 1 - 1e-9


# ------------------------------------------------------------------------- closed forms


def of(ranges: list[tuple[float, int]]) -> list[Release]:
    return [BoundedRange(epsilon=epsilon) * count for epsilon, count in ranges]


@every_form
@pytest.mark.parametrize("case", FIGURE)
def test_closed_forms_agree_with_the_recorded_figure(case: Case, name: str) -> None:
    profile = CLOSED_FORMS[name](of([(case["epsilon"], case["count"])]))
    bounds = profile.epsilon_bounds(delta=case["target"])
    assert bounds.relative_width <= WIDTH
    assert abs(bounds.upper / case[name] - 1) <= 1e-9


@every_form
@pytest.mark.parametrize("seed", range(15))
def test_closed_forms_are_never_below_the_optimum(name: str, seed: int) -> None:
    rng = random.Random(seed)
    count, epsilon = round(log_uniform(rng, 1, 3000)), log_uniform(rng, 1e-3, 4.0)
    target = log_uniform(rng, 1e-20, 0.3)
    form, optimum = (
        CLOSED_FORMS[name](of([(epsilon, count)])),
        NonAdaptiveRange(count=count, epsilon=epsilon),
    )
    least = optimum.epsilon_bounds(delta=target)
    assert form.epsilon_bounds(delta=target).upper >= least.lower
    assert form.delta_bounds(epsilon=least.lower).upper >= target * (1 - 1e-9)


@every_form
@pytest.mark.parametrize("seed", range(4))
def test_closed_forms_are_never_below_unequal_releases(name: str, seed: int) -> None:
    rng = random.Random(seed)
    epsilons = [log_uniform(rng, 0.05, 3.0) for _ in range(3)]
    at = rng.uniform(0, 0.6) * sum(epsilons)
    form = CLOSED_FORMS[name](of([(epsilon, 1) for epsilon in epsilons]))
    assert form.delta_bounds(epsilon=at).upper >= oracle.climbed_delta(
        epsilons=epsilons, at=at, rounds=2
    )


@every_form
def test_closed_forms_promise_nothing_beyond_the_sum_and_do_not_depend_on_order(name: str) -> None:
    form, turned = (
        CLOSED_FORMS[name](of(r)) for r in ([(0.5, 3), (0.25, 2)], [(0.25, 2), (0.5, 3)])
    )
    assert form.delta_bounds(epsilon=2.0).upper == 0.0
    assert form.epsilon_bounds(delta=0.0).upper == 2.0
    assert form.epsilon_bounds(delta=1.0).upper == 0.0
    assert form.epsilon_bounds(delta=1e-3).overlaps(turned.epsilon_bounds(delta=1e-3))
    bounds = form.epsilon_bounds(delta=0.2)
    assert form.delta_bounds(epsilon=bounds.upper).lower <= 0.2 * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_the_log_moment_is_the_largest_over_all_losses(seed: int) -> None:
    rng = random.Random(seed)
    order, epsilon = log_uniform(rng, 1e-2, 100.0), log_uniform(rng, 1e-4, 50.0)
    truth = oracle.largest_log_moment(order=order, epsilon=epsilon)
    found = theorems.log_moment(order=order, epsilon=epsilon)
    assert truth * (1 - mpf(10) ** -30) <= found <= truth * (1 + mpf(10) ** -14)
    assert truth <= mpf(order) * (order + 1) * mpf(epsilon) ** 2 / 8


def test_the_factor_only_helps() -> None:
    ranges = of([(0.3, 40), (1.0, 2)])
    printed, sharp = theorems.range_moments(ranges), theorems.sharp_range_moments(ranges)
    for target in (1e-2, 1e-6, 1e-12):
        assert sharp.epsilon_bounds(delta=target).upper < printed.epsilon_bounds(delta=target).upper


def test_ranges_are_read_off_releases() -> None:
    mixed = [
        BoundedRange(epsilon=0.5) * 3,
        ExponentialMechanism(epsilon=1.0, monotonic=True),
        ExponentialMechanism(epsilon=0.125) * 2,
    ]
    assert theorems.ranges_of(mixed) == ((0.5, 4), (0.125, 2))
    with pytest.raises(TheoremDoesNotApply, match="PureDP"):
        theorems.ranges_of([PureDP(epsilon=0.5)])


# ------------------------------------------------------------------------- the single loss


@pytest.mark.parametrize("seed", range(20))
def test_moments_and_decay_of_the_loss_keep_what_they_promise(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        e = log_uniform(rng, 1e-8, 100.0)
        theta = rng.choice([rng.uniform(-1, 0), log_uniform(rng, 1e-4, 1e3) * rng.choice([-1, 1])])
        t = log_uniform(rng, 1e-3, 1e3) / e
        low, high = t * rng.uniform(0.8, 1.0), t * rng.uniform(1.0, 1.3)
        law = BoundedRangeLoss(e)
        values, errors = law.log_moment(np.array([complex(theta, t), complex(theta)]))
        (fall,) = law.decay(theta, np.array([low]), np.array([high]))
        with mp.workdps(40):

            def moment(s: mpc, e: float = e) -> mpc:
                a = s + mpf(1) / 2
                return mp.sinh(a * e) / a / (2 * mp.sinh(mpf(e) / 2))

            for s, value, error in zip((mpc(theta, t), mpc(theta)), values, errors, strict=True):
                wrong = abs(mp.log(mp.exp(mpc(complex(value))) / moment(s)))
                assert wrong <= error + 1e-30
            for place in (low, t, high):
                true = mp.log(abs(moment(mpc(theta)) / moment(mpc(theta, place))))
                assert fall <= true * (1 + mpf(10) ** -6) + mpf(10) ** -15


@pytest.mark.parametrize("at", [-0.9, -0.3, 0.0, 0.4, 0.95])
def test_the_density_of_the_loss_gives_the_largest_delta_of_its_class(at: float) -> None:
    e = mpf(1)
    with mp.workdps(30):

        def lost(x: mpf) -> mpf:
            density = mp.exp((x - e) / 2) / (2 * (1 - mp.exp(-e)))
            return (1 - mp.exp(at - x)) * density

        delta = mp.quad(lost, [mpf(at), e])
        assert abs(delta - oracle.single_delta(epsilon=1, at=at)) < mpf(10) ** -20


@pytest.mark.parametrize("seed", range(8))
def test_composed_losses_cost_at_least_the_non_adaptive_optimum(seed: int) -> None:
    rng = random.Random(seed)
    count, epsilon = rng.randint(2, 2000), log_uniform(rng, 1e-3, 2.0)
    target = log_uniform(rng, 1e-12, 1e-2)
    adaptive = compose(BoundedRange(epsilon=epsilon) * count).epsilon_bounds(delta=target)
    fixed = NonAdaptiveRange(count=count, epsilon=epsilon).epsilon_bounds(delta=target)
    assert adaptive.upper >= fixed.lower


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 100), (5.0, 1000), (100.0, 1000)])
def test_epsilons_of_composed_losses_are_narrow(epsilon: float, count: int) -> None:
    (composed,) = privacy_loss([BoundedRange(epsilon=epsilon) * count])._directions
    bounds = composed.epsilon_bounds(delta=1e-6)
    assert bounds.relative_width <= 1e-4
    assert composed.delta_bounds(epsilon=bounds.upper).lower <= 1e-6
    assert composed.delta_bounds(epsilon=bounds.lower).upper >= 1e-6


# ------------------------------------------------------------------------- the mechanism


def test_the_exponential_mechanism_has_the_range_of_its_scores() -> None:
    assert ExponentialMechanism(epsilon=0.1).range_epsilon == 0.1
    assert ExponentialMechanism(epsilon=0.1, sensitivity=7.0).range_epsilon == 0.1
    assert ExponentialMechanism(epsilon=0.1, monotonic=True).range_epsilon == 0.05
    given = ExponentialMechanism(epsilon=0.1, sensitivity=1.0, range=0.3).range_epsilon
    exact = Fraction(0.1) * Fraction(0.3) / 2
    assert Fraction(math.nextafter(given, 0.0)) < exact <= given


def test_exponential_mechanisms_never_have_more_than_their_range() -> None:
    """Scores of three outcomes in two neighbouring databases, by the mechanism's own definition."""
    rng = random.Random(5)
    for _ in range(200):
        monotonic, sensitivity = rng.random() < 0.5, rng.uniform(0.1, 3.0)
        release = ExponentialMechanism(
            epsilon=rng.uniform(0.01, 5.0), sensitivity=sensitivity, monotonic=monotonic
        )
        scores = [rng.uniform(-5, 5) for _ in range(3)]
        low = 0.0 if monotonic else -sensitivity
        moved = [score + rng.uniform(low, sensitivity) for score in scores]
        weights, others = (
            [math.exp(release.epsilon * score / (2 * sensitivity)) for score in world]
            for world in (scores, moved)
        )
        ratios = [
            math.log(b / sum(others)) - math.log(a / sum(weights))
            for a, b in zip(weights, others, strict=True)
        ]
        assert max(ratios) - min(ratios) <= release.range_epsilon * (1 + 1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"range": 2.5},
        {"range": 0.0},
        {"range": 1.0, "monotonic": True},
        {"monotonic": 1},
        {"monotonic": "yes"},
        {"epsilon": 701.0},
    ],
)
def test_what_is_no_exponential_mechanism_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        ExponentialMechanism(**({"epsilon": 1.0} | wrong))
