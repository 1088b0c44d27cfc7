"""Offers: what is asked for is kept, what is wrong is refused before anything else."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import pytest
from mpmath import exp, mpf

import quaestor
from quaestor.curator.language.expressions import Aggregated, Arithmetic, Keyed
from quaestor.curator.language.query import Output
from quaestor.curator.pricing.editions import SECOND
from quaestor.curator.pricing.offers import Accuracy, offer
from quaestor.errors import InvalidParameter, TargetOutOfReach
from quaestor.mechanisms import Geometric
from tests.curator.pricing.tables import X, aggregate, query


def test_a_plain_count_is_the_release_that_one_would_write_by_hand() -> None:
    [release] = offer(query(aggregate("count")), epsilon=0.1).releases
    assert release == quaestor.Geometric(scale=10.0)
    [release] = offer(query(aggregate("count"), rows=4), epsilon=0.5).releases
    assert release == quaestor.Geometric(scale=8.0, sensitivity=4)
    [release] = offer(query(aggregate("count")), rho=0.005).releases
    assert release == quaestor.DiscreteGaussian(sigma=10.0)


def test_thirds_fit_a_budget_of_one_to_the_last_bit() -> None:
    [release] = offer(query(aggregate("count"), keys=range(3), groups=3), epsilon=1.0).releases
    assert isinstance(release, quaestor.Repeated)
    assert release.count == 3
    exact = Fraction(1) / Fraction(release.release.to_dict()["scale"])
    rounded_up = math.nextafter(float(exact), 1.0) if float(exact) < exact else float(exact)
    assert 3 * Fraction(rounded_up) <= 1  # even if a meter rounds the cost of each one up
    assert 3 * exact > Fraction(99999, 100000)


def test_equal_releases_are_counted_together() -> None:
    asked = query(aggregate("count"), aggregate("count", operand=X), keys=range(3), groups=2)
    [release] = offer(asked, epsilon=1.0).releases
    assert isinstance(release, quaestor.Repeated)
    assert release.count == 4


@pytest.mark.parametrize("within", [3, 50, 1234.5])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_noise_of_a_wanted_accuracy_is_the_least(within: float, confidence: float) -> None:
    asked = query(aggregate("count"), rows=2)
    offered = offer(asked, accuracy=Accuracy(within=within, confidence=confidence))
    [draw] = offered.draws
    mechanism: Any = draw.mechanism  # type: ignore[attr-defined]

    def misses(scale: float) -> mpf:  # P(|noise| > within), from the geometric series
        beyond = int(within) + 1
        return 2 * exp(-beyond / mpf(scale)) / (1 + exp(-1 / mpf(scale)))

    assert misses(mechanism.scale) <= 1 - confidence + 1e-12
    assert misses(mechanism.scale * 1.00001) > 1 - confidence


def test_gaussian_noise_of_a_wanted_accuracy_is_almost_the_least() -> None:
    asked = query(aggregate("count"))
    [draw] = offer(asked, accuracy=Accuracy(within=100, noise="gaussian")).draws
    sigma = draw.mechanism.sigma  # type: ignore[attr-defined]
    assert 100 / 1.959964 * 0.98 <= sigma <= 101 / 1.959964


def test_an_accuracy_may_be_of_one_output_or_of_all() -> None:
    asked = query(aggregate("count"), aggregate("sum"), aggregate("mean", high=12.0))
    every = offer(asked, accuracy=Accuracy(within=40))
    halves = [expected.half_width for expected in every.expected]
    assert halves[0] is not None
    assert halves[1] is not None
    assert halves[0] <= 40
    assert halves[1] <= 40
    one = offer(asked, accuracy=Accuracy(within=40, of="a0"))
    assert one.epsilon is not None
    assert every.epsilon is not None
    assert one.epsilon < every.epsilon
    both = query(aggregate("sum"), aggregate("mean"))  # the sum is made of two measures
    [expected, _] = offer(both, accuracy=Accuracy(within=200)).expected
    assert expected.half_width is not None
    assert 180 < expected.half_width <= 200


def test_accuracies_that_depend_on_data_are_refused_with_the_reason() -> None:
    asked = query(aggregate("mean"), aggregate("quantile"))
    for name in ("a0", "a1", None, "nothing"):
        with pytest.raises(InvalidParameter, match="depends on the data"):
            offer(asked, accuracy=Accuracy(within=1, of=name))
    with pytest.raises(TargetOutOfReach, match="less accuracy"):
        offer(query(aggregate("sum", high=2.0**24), rows=513), accuracy=Accuracy(within=0.5))


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({}, "budget"),
        ({"epsilon": 1.0, "rho": 1.0}, "budget"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"rho": -1.0}, "rho"),
        ({"epsilon": 1.0, "confidence": 1.0}, "confidence"),
    ],
)
def test_wrong_terms_are_refused(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        offer(query(aggregate("count")), **wrong)
    assert refused.value.field == field


@pytest.mark.parametrize("wrong", [{"within": 0.0}, {"within": 1.0, "confidence": 1.0}])
def test_wrong_accuracies_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        Accuracy(**wrong)


def test_private_groups_need_a_delta_and_queries_something_to_release() -> None:
    with pytest.raises(InvalidParameter, match="private"):
        offer(query(aggregate("count"), keys=None), epsilon=1.0)
    with pytest.raises(InvalidParameter, match="aggregate"):
        offer(query(keys=[1, 2]), epsilon=1.0)
    assert offer(query(keys=None), epsilon=1.0, delta=1e-6).draws == ()
    with pytest.raises(InvalidParameter, match="count or a sum"):
        offer(query(aggregate("mean"), keys=range(9), top=2), epsilon=1.0)
    with pytest.raises(TargetOutOfReach, match="too small"):
        offer(query(aggregate("sum", high=2.0**24), keys=None, groups=10**6), rho=1e-8, delta=1e-9)


def test_the_largest_of_private_groups_are_not_chosen_twice() -> None:
    asked = query(aggregate("count"), keys=None, top=2, groups=4)
    assert len(offer(asked, epsilon=1.0, delta=1e-6).draws) == 1
    all_of_them = query(aggregate("count"), keys=range(3), top=3)
    assert offer(all_of_them, epsilon=1.0).choice is None


def test_expected_errors_are_those_of_the_noise() -> None:
    asked = query(
        aggregate("count"),
        aggregate("mean", low=-4.0, high=8.0),
        aggregate("variance"),
        aggregate("stddev"),
        aggregate("quantile"),
        keys=[1],
        outputs=(
            Output(name="k", expression=Keyed(0)),
            *(Output(name=f"a{i}", expression=Aggregated(i)) for i in range(5)),
            Output(name="r", expression=Arithmetic("/", Aggregated(1), Aggregated(0))),
        ),
    )
    shared = {each.name: each for each in offer(asked, epsilon=1.0).expected}
    offered = offer(asked, epsilon=1.0, edition=SECOND)  # counts have a measure of their own
    count, mean, variance, deviation, rank, ratio = offered.expected
    assert (shared["a0"].half_width or 0) < (count.half_width or 0)
    assert (shared["a1"].half_width or 0) < (mean.half_width or 0)
    noise = offered.draws[0].mechanism  # type: ignore[attr-defined]
    assert isinstance(noise, Geometric)
    assert count.standard_error == noise.standard_error
    assert count.half_width == noise.interval(confidence=0.95).upper
    assert mean.divided_by == variance.divided_by == "rows"
    assert deviation.standard_error is rank.standard_error is ratio.standard_error is None
    assert "rank" in rank.words


def test_a_query_is_priced_in_little_time_whatever_its_sensitivity() -> None:
    asked = query(
        *(aggregate("sum", high=float(high)) for high in (3, 40, 1000, 10**6)),
        aggregate("count"),
        rows=30,
        keys=range(9),
        groups=4,
    )
    start = time.process_time()
    either: list[dict[str, Any]] = [{"epsilon": 1.0}, {"rho": 0.1}]
    for terms in either:
        offered = offer(asked, **terms)
        assert 0 < offered.epsilon_at(delta=1e-6) < 6
    assert time.process_time() - start < 2  # of CPU time: thirty times what is usual
