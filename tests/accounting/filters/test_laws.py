"""Laws that every filter obeys."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.filters import (
    FILTERS,
    Filter,
    Odometer,
    basic_filter,
    best_filter,
    concentrated_filter,
    default_filter,
    filter_from_dict,
    fitting_version,
    gaussian_filter,
    moment_filter,
    range_filter,
    remaining_count,
    repetitions,
    weighted_filter,
    whitehouse_filter,
)
from quaestor.accounting.releases import (
    ApproxDP,
    BoundedRange,
    DiscreteGaussian,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    Geometric,
    Laplace,
    MatrixSketch,
    PoissonSampled,
    PureDP,
    RandomizedResponse,
    Release,
    Staircase,
    ZeroConcentratedDP,
)
from quaestor.accounting.releases.base import LARGEST_COUNT
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

FILTERS_HERE = [
    basic_filter(epsilon=1.0, delta=1e-6),
    whitehouse_filter(epsilon=1.0, delta=1e-6, reserved=1e-7),
    range_filter(epsilon=1.0, delta=1e-6, reserved=1e-7),
    concentrated_filter(epsilon=1.0, delta=1e-6, reserved=1e-7),
    gaussian_filter(epsilon=1.0, delta=1e-6, reserved=1e-7),
    moment_filter(epsilon=1.0, delta=1e-6, order=22.5, reserved=1e-7),
    weighted_filter(epsilon=1.0, delta=1e-6, orders=[(20.0, 0.5), (60.0, 0.5)], reserved=1e-7),
    default_filter(epsilon=1.0, delta=1e-6),
]
WEAK = [  # a release of each kind that is weak enough to fit, if its kind fits at all
    PureDP(epsilon=0.01),
    ApproxDP(epsilon=0.01, delta=1e-10),
    Laplace(scale=80.0),
    Geometric(scale=90.0, sensitivity=2),
    Staircase(epsilon=0.02),
    RandomizedResponse(epsilon=0.03, categories=5),
    BoundedRange(epsilon=0.02),
    ExponentialMechanism(epsilon=0.05, monotonic=True),
    Gaussian(sigma=70.0),
    DiscreteGaussian(sigma=70.0),
    GaussianDP(mu=0.01),
    ZeroConcentratedDP(rho=0.0001),
    PoissonSampled(release=Laplace(scale=2.0), rate=0.01),
]
names = pytest.mark.parametrize("filter_", FILTERS_HERE, ids=lambda some: some.kind)


def totals(filter_: Filter, history: Sequence[Release]) -> dict[object, Fraction | None]:
    return {meter: meter.cost(history) for meter in filter_.meters}


def fits(filter_: Filter, *history: Release) -> bool:
    return filter_.fits({meter: meter.cost(history) for meter in filter_.meters})


def test_the_filters_here_are_of_every_kind() -> None:
    assert {filter_.kind for filter_ in FILTERS_HERE} == set(FILTERS)


@names
def test_an_empty_history_fits(filter_: Filter) -> None:
    assert fits(filter_)


@names
@pytest.mark.parametrize("release", WEAK, ids=str)
def test_a_count_costs_as_much_as_saying_it_so_often(filter_: Filter, release: Release) -> None:
    assert totals(filter_, [release * 7]) == totals(filter_, [release] * 7)


@names
def test_the_order_of_releases_is_irrelevant_and_each_costs_something(filter_: Filter) -> None:
    rng = random.Random(3)
    for _ in range(10):
        history = rng.choices(WEAK, k=6)
        turned = rng.sample(history, k=6)
        assert totals(filter_, history) == totals(filter_, turned)
        for meter in filter_.meters:
            costs = [meter.cost([release]) for release in history]
            together = meter.cost(history)
            if together is None:
                assert None in costs
            else:
                known = [cost for cost in costs if cost is not None]
                assert together == sum(known)
                assert min(known) >= 0


@names
def test_what_tells_more_costs_no_less(filter_: Filter) -> None:
    ladders: list[list[Release]] = [
        [PureDP(epsilon=e) for e in (0.0, 1e-9, 0.01, 0.5, 3.0, 700.0)],
        [ApproxDP(epsilon=0.1, delta=d) for d in (0.0, 1e-9, 1e-3, 1.0)],
        [Laplace(scale=s) for s in (1e6, 10.0, 1.0, 0.1)],
        [Gaussian(sigma=s) for s in (1e6, 10.0, 1.0, 0.1)],
        [BoundedRange(epsilon=e) for e in (1e-9, 0.01, 0.5, 3.0)],
        [BoundedRange(epsilon=0.5), PureDP(epsilon=0.5)],
        [Laplace(scale=2.0), PureDP(epsilon=0.5)],
        [PoissonSampled(release=Laplace(scale=2.0), rate=r) for r in (0.01, 0.3, 0.9)],
    ]
    for ladder in ladders:
        for meter in filter_.meters:
            costs = [meter.cost([release]) for release in ladder]
            known = [cost for cost in costs if cost is not None]
            assert costs[: len(known)] == known  # whatever cannot be paid is at the strong end
            rounding = 1 + Fraction(1, 10**9)  # samples are rounded up, by less than this
            assert all(a <= b * rounding for a, b in pairwise(known))


@names
def test_more_budget_never_lets_less_through(filter_: Filter) -> None:
    described = filter_.to_dict()
    richer = filter_from_dict(described | {"epsilon": 1.25})
    for meter, more in zip(filter_.meters, richer.meters, strict=True):
        assert meter.limit <= more.limit
        assert meter.key == more.key


@names
def test_a_filter_comes_back_from_plain_values_as_it_was(filter_: Filter) -> None:
    text = json.dumps(filter_.to_dict(), allow_nan=False)
    back = filter_from_dict(json.loads(text))
    assert back == filter_
    assert "limit" not in text


@pytest.mark.parametrize(
    "described",
    [
        None,
        {},
        {"filter": "natural", "epsilon": 1.0, "delta": 1e-6},
        {"filter": "basic", "epsilon": 1.0},
        {"filter": "basic", "epsilon": 1.0, "delta": 1e-6, "reserved": 0.0},
        {"filter": "moment", "epsilon": 1.0, "delta": 1e-6},
        {"filter": "moment", "epsilon": 1.0, "delta": 1e-6, "order": "high"},
        {"filter": "weighted", "epsilon": 1.0, "delta": 1e-6, "orders": [3.0]},
        {"filter": "weighted", "epsilon": 1.0, "delta": 1e-6, "orders": [[3.0, 0.5, 1.0]]},
    ],
    ids=str,
)
def test_what_describes_no_filter_is_refused(described: object) -> None:
    with pytest.raises(InvalidParameter):
        filter_from_dict(described)


@names
def test_words_say_what_is_promised_and_how_delta_is_divided(filter_: Filter) -> None:
    said = filter_.words()
    assert "(1.0, 1e-06)" in said
    assert "every person" in said
    assert "may choose" in said
    assert "own deltas" in said
    for meter in filter_.meters:
        assert meter.words in said


def test_ten_times_a_tenth_is_more_than_one() -> None:
    basic = basic_filter(epsilon=1.0, delta=0.0)
    assert fits(basic, PureDP(epsilon=0.1) * 9)
    assert not fits(basic, PureDP(epsilon=0.1) * 10)
    assert fits(basic, PureDP(epsilon=0.125) * 8)


@names
def test_one_release_of_the_whole_epsilon_always_fits(filter_: Filter) -> None:
    assert fits(filter_, PureDP(epsilon=1.0))
    assert not fits(filter_, PureDP(epsilon=1.0), PureDP(epsilon=0.5))


def test_meters_of_one_filter_have_keys_of_their_own() -> None:
    for filter_ in FILTERS_HERE:
        keys = [meter.key for meter in filter_.meters]
        assert len(set(keys)) == len(keys)


# The best filter.


def test_the_best_filter_goes_at_least_as_far_as_any_other() -> None:
    rng = random.Random(7)
    for _ in range(12):
        expected = rng.choices(WEAK, k=rng.randint(1, 3))
        epsilon, delta = rng.choice([0.5, 1.0, 4.0]), rng.choice([1e-5, 1e-8])
        reached = repetitions(
            best_filter(epsilon=epsilon, delta=delta, expected=expected), expected
        )
        reserves = [0.0, delta / 8, delta / 3, 0.9 * delta]
        others = [basic_filter(epsilon=epsilon, delta=delta)]
        for make in (whitehouse_filter, range_filter, concentrated_filter, gaussian_filter):
            others += [make(epsilon=epsilon, delta=delta, reserved=kept) for kept in reserves]
        for order in (30.0, 45.0, 80.0, 300.0):
            others += [
                weighted_filter(epsilon=epsilon, delta=delta, orders=[(order, 1.0)], reserved=kept)
                for kept in reserves
            ]
        most = max(repetitions(other, expected) for other in others)
        assert reached >= most * (1 - Fraction(1, 10**5))


def test_the_best_filter_is_the_same_every_time() -> None:
    from quaestor.accounting.filters import filter_choice as best

    found = best_filter(epsilon=1.0, delta=1e-6, expected=WEAK)
    best._best.cache_clear()
    assert best_filter(epsilon=1.0, delta=1e-6, expected=WEAK) == found


def test_the_best_filter_for_deltas_reserves_some_of_delta_for_them() -> None:
    expected = [ApproxDP(epsilon=0.01, delta=1e-9), Gaussian(sigma=100.0)]
    filter_ = best_filter(epsilon=1.0, delta=1e-6, expected=expected)
    whole = int(repetitions(filter_, expected))
    assert whole > 30
    assert fits(filter_, *(release * whole for release in expected))
    assert not fits(filter_, *(release * (whole + 1) for release in expected))


def test_without_delta_or_for_what_costs_nothing_the_simplest_filter_is_best() -> None:
    assert best_filter(epsilon=1.0, delta=0.0).kind == "basic"
    assert best_filter(epsilon=1.0, delta=0.0, expected=[PureDP(epsilon=0.1)]).kind == "basic"
    assert best_filter(epsilon=1.0, delta=1e-6, expected=[PureDP(epsilon=0.0)]).kind == "basic"


def test_a_use_that_nothing_lets_through_gets_the_filter_for_anything() -> None:
    sketch = MatrixSketch(rows=1000, weight=0.01)
    assert best_filter(epsilon=1.0, delta=1e-6, expected=[sketch]).kind == "weighted"
    assert best_filter(epsilon=1.0, delta=1e-6) == default_filter(epsilon=1.0, delta=1e-6)


def test_an_expected_use_is_made_of_releases() -> None:
    with pytest.raises(InvalidParameter, match="expected"):
        best_filter(epsilon=1.0, delta=1e-6, expected=["PureDP"])  # type: ignore[list-item]


# What would fit.


@names
@pytest.mark.parametrize("release", WEAK, ids=str)
def test_the_remaining_count_is_the_last_that_fits(filter_: Filter, release: Release) -> None:
    spent = [PureDP(epsilon=0.05), BoundedRange(epsilon=0.05)]
    before = {meter: meter.cost(spent) for meter in filter_.meters}
    count = remaining_count(filter_, before, release)
    assert not fits(filter_, *spent, release * (count + 1))
    if count:
        assert fits(filter_, *spent, release * count)


def test_what_costs_nothing_fits_as_often_as_anybody_can_count() -> None:
    basic = basic_filter(epsilon=1.0, delta=0.0)
    nothing = dict.fromkeys(basic.meters, Fraction(0))
    assert remaining_count(basic, nothing, PureDP(epsilon=0.0)) == LARGEST_COUNT
    assert remaining_count(basic, nothing, Gaussian(sigma=1.0)) == 0


STRONG = [
    PureDP(epsilon=5.0),
    ApproxDP(epsilon=5.0, delta=1e-8),
    Laplace(scale=0.1),
    Geometric(scale=0.1, sensitivity=3),
    Staircase(epsilon=5.0),
    RandomizedResponse(epsilon=5.0),
    BoundedRange(epsilon=5.0),
    ExponentialMechanism(epsilon=5.0, sensitivity=2.0),
    Gaussian(sigma=0.5),
    DiscreteGaussian(sigma=0.5),
    GaussianDP(mu=3.0),
    ZeroConcentratedDP(rho=3.0),
    PureDP(epsilon=5.0) * 40,
]


@pytest.mark.parametrize("release", STRONG, ids=str)
def test_the_fitting_version_fits_and_a_little_more_would_not(release: Release) -> None:
    filter_ = default_filter(epsilon=1.0, delta=1e-6)
    spent = PureDP(epsilon=0.3)
    found = fitting_version(release, lambda one: fits(filter_, spent, one))
    assert found is not None
    assert type(found) is type(release)
    assert fits(filter_, spent, found)
    changed = [(key, value) for key, value in _flat(found).items() if value != _flat(release)[key]]
    ((field, value),) = changed
    digits = f"{value:.15e}".split("e")[0].replace(".", "").rstrip("0")
    assert len(digits) <= 6
    stronger = value * (1 - 2e-5 if field in {"sigma", "scale"} else 1 + 2e-5)
    single = found.release if hasattr(found, "release") else found
    count = getattr(found, "count", 1)
    more = type(single)(**(_flat(single) | {field: stronger})) * count
    assert not fits(filter_, spent, more)


def _flat(release: Release) -> dict[str, float]:
    described = release.to_dict()
    inner = described.pop("release", {})
    return {
        key: value for key, value in (described | inner).items() if key not in {"type", "count"}
    }


def test_a_round_number_at_the_very_limit_is_the_fitting_version() -> None:
    def quarter(one: Release) -> bool:
        return isinstance(one, PureDP) and one.epsilon <= 0.25

    def fifty(one: Release) -> bool:
        return isinstance(one, Gaussian) and one.sigma >= 50.0

    assert fitting_version(PureDP(epsilon=1.0), quarter) == PureDP(epsilon=0.25)
    assert fitting_version(Gaussian(sigma=3.0), fifty) == Gaussian(sigma=50.0)


def test_a_release_that_fits_is_its_own_fitting_version() -> None:
    release = PureDP(epsilon=0.123456789)
    assert fitting_version(release, lambda _: True) is release


def test_where_nothing_fits_or_strength_is_no_single_number_there_is_no_version() -> None:
    assert fitting_version(PureDP(epsilon=1.0), lambda _: False) is None
    assert fitting_version(DiscreteGaussian(sigma=5e8), lambda _: False) is None
    sampled = PoissonSampled(release=Gaussian(sigma=1.0), rate=0.1)
    assert fitting_version(sampled, lambda _: True) is None
    basic = basic_filter(epsilon=1.0, delta=1e-6)
    told = ApproxDP(epsilon=5.0, delta=1e-3)
    assert fitting_version(told, lambda one: fits(basic, one)) is None


# The odometer.


def test_readings_never_fall_and_never_pass_the_sum_of_epsilons() -> None:
    rng = random.Random(9)
    odometer = Odometer(delta=1e-6, reserved=1e-7)
    history: list[Release] = []
    last = 0.0
    for _ in range(60):
        history.append(rng.choice([PureDP(epsilon=rng.uniform(0, 0.2)), BoundedRange(epsilon=0.3)]))
        reading = odometer.read(history)
        assert reading.epsilon >= last
        total = odometer.meters[0].cost(history)
        assert total is not None
        assert Fraction(reading.epsilon) <= total * (1 + Fraction(1, 10**15))
        last = reading.epsilon
    assert reading.delta >= 1.1e-6


@pytest.mark.parametrize("count", [1000, 10_000, 100_000])
def test_after_many_releases_the_odometer_is_far_below_the_sum_of_epsilons(count: int) -> None:
    odometer = Odometer(delta=1e-6)
    reading = odometer.read([PureDP(epsilon=0.01) * count])
    filter_ = whitehouse_filter(epsilon=reading.epsilon, delta=1e-6)
    assert fits(filter_, PureDP(epsilon=0.01) * int(count * 0.6))  # a filter knows its end
    assert reading.epsilon < 0.01 * count * 0.8
    assert reading.by.startswith("moment")


def test_beyond_the_reserve_and_without_bounds_there_is_no_finite_reading() -> None:
    odometer = Odometer(delta=0.0, reserved=1e-8)
    assert odometer.read([Gaussian(sigma=1.0)]).epsilon == float("inf")
    assert odometer.read([ApproxDP(epsilon=0.5, delta=1e-8)]).epsilon == 0.5
    assert odometer.read([ApproxDP(epsilon=0.5, delta=1e-8) * 2]).epsilon == float("inf")
    assert odometer.read([ApproxDP(epsilon=0.5, delta=1e-8)]).delta == 1e-8
    assert Odometer(delta=1e-6).read([Gaussian(sigma=1.0)]).epsilon < 10
    with pytest.raises(InvalidParameter):
        Odometer(delta=-1.0)
