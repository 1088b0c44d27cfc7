"""dp-accounting's own tests on our accountant, and ours on what it does with events."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from typing import Any

import dp_accounting
import pytest
from dp_accounting import dp_event, pld, privacy_accountant_test
from hypothesis import given, settings
from hypothesis import strategies as st

import quaestor as q
from quaestor.errors.base import install_command
from quaestor.interop.dp_accounting import (
    QuaestorAccountant,
    event_from_text,
    from_dp_event,
    to_dp_event,
)

ADD_OR_REMOVE = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = dp_accounting.NeighboringRelation.REPLACE_ONE
SPECIAL = dp_accounting.NeighboringRelation.REPLACE_SPECIAL

GAUSSIAN = dp_event.GaussianDpEvent(2.0)
LAPLACE = dp_event.LaplaceDpEvent(3.0)
GEOMETRIC = dp_event.DiscreteLaplaceDpEvent(0.5, 2)
RESPONSE = dp_event.RandomizedResponseDpEvent(0.5, 2)
CONCENTRATED = dp_event.ZCDpEvent(0.1)
FIXED_SAMPLE = dp_event.SampledWithoutReplacementDpEvent(10, 5, GEOMETRIC)
STEP = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))


class TestAsTheirsAreTested(privacy_accountant_test.PrivacyAccountantTest):  # type: ignore[misc]
    """What dp-accounting asks of every accountant."""

    def _make_test_accountants(self) -> list[QuaestorAccountant]:
        return [QuaestorAccountant(relation) for relation in dp_accounting.NeighboringRelation]


def response(epsilon: float) -> Any:
    """Randomized response of two answers, which is the worst that epsilon-DP allows."""
    return dp_event.RandomizedResponseDpEvent(2 / (math.exp(epsilon) + 1), 2)


def accountant(event: Any, relation: Any = ADD_OR_REMOVE, *, count: int = 1) -> QuaestorAccountant:
    made: QuaestorAccountant = QuaestorAccountant(relation).compose(event, count)
    return made


# Numbers.


def test_private_training_costs_what_the_engine_says() -> None:
    spent = accountant(STEP, count=1000)
    exact = q.compose(q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=0.01) * 1000)
    assert spent.get_epsilon(1e-6) == exact.epsilon(delta=1e-6)
    assert spent.get_epsilon(1e-6) == pytest.approx(2.1245, abs=1e-4)
    assert spent.get_delta(2.0) == exact.delta(epsilon=2.0)


def test_the_numbers_of_the_readme_hold_for_randomized_response() -> None:
    fitting = accountant(response(0.024011080397139277), REPLACE, count=100)
    assert fitting.get_epsilon(1e-6) == pytest.approx(1.0, rel=1e-9)
    million = accountant(response(0.01), REPLACE, count=1_000_000)
    assert million.get_delta(1.0) == pytest.approx(0.9999990591228494, rel=1e-9)
    assert accountant(response(0.01), REPLACE, count=562).get_epsilon(1e-6) <= 1.0
    assert accountant(response(0.01), REPLACE, count=563).get_epsilon(1e-6) > 1.0


def test_a_hundred_gaussians_cost_what_compose_shows() -> None:
    spent = accountant(dp_event.GaussianDpEvent(20.0), count=100)
    assert round(spent.get_epsilon(1e-6), 6) == 2.254085


def test_ten_randomized_responses_are_ten_and_not_one() -> None:
    truth = 10 * math.log(3)
    ours = accountant(RESPONSE, REPLACE, count=10).get_epsilon(0.0)
    assert truth <= ours <= truth * (1 + 1e-9)
    theirs = pld.PLDAccountant(REPLACE).compose(RESPONSE, 10).get_epsilon(0.0)
    assert theirs < truth / 5  # version 0.6.0 forgets the count


def test_the_upper_end_stays_above_the_truth_where_theirs_does_not() -> None:
    event = dp_event.DiscreteLaplaceDpEvent(0.1, 1)  # the loss of randomized response
    truth = q.compose(q.PureDP(epsilon=0.1) * 1000).epsilon_bounds(delta=1e-12)
    theirs = pld.PLDAccountant().compose(event, 1000).get_epsilon(1e-12)
    ours = accountant(event, count=1000).get_epsilon(1e-12)
    assert theirs < truth.lower
    assert truth.lower <= ours <= truth.upper * (1 + 1e-6)


@pytest.mark.parametrize(
    ("event", "relation"),
    [
        (GAUSSIAN, ADD_OR_REMOVE),
        (GAUSSIAN, REPLACE),
        (LAPLACE, ADD_OR_REMOVE),
        (GEOMETRIC, ADD_OR_REMOVE),
        (RESPONSE, REPLACE),
        (dp_event.RandomizedResponseDpEvent(0.3, 7), REPLACE),
    ],
)
def test_both_accountants_mean_the_same_by_an_event(event: Any, relation: Any) -> None:
    theirs = pld.PLDAccountant(relation).compose(event)
    ours = accountant(event, relation)
    for epsilon in (0.0, 0.1, 0.5):
        assert ours.get_delta(epsilon) == pytest.approx(theirs.get_delta(epsilon), abs=1e-4)


@pytest.mark.parametrize(
    ("event", "count"),
    [
        (GAUSSIAN, 5),
        (LAPLACE, 5),
        (GEOMETRIC, 5),
        (STEP, 1000),
        (dp_event.PoissonSampledDpEvent(0.01, dp_event.LaplaceDpEvent(1.0)), 1000),
    ],
)
def test_the_count_counts(event: Any, count: int) -> None:
    theirs = pld.PLDAccountant().compose(event, count).get_delta(0.5)
    assert accountant(event, count=count).get_delta(0.5) == pytest.approx(theirs, abs=1e-3)


def test_a_mixed_tree_is_what_compose_makes_of_its_leaves() -> None:
    tree = dp_event.ComposedDpEvent(
        [
            dp_event.SelfComposedDpEvent(dp_event.ComposedDpEvent([STEP, LAPLACE]), 50),
            dp_event.NoOpDpEvent(),
            GAUSSIAN,
            GEOMETRIC,
            dp_event.SelfComposedDpEvent(GAUSSIAN, 2),
        ]
    )
    exact = q.compose(
        q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=0.01) * 100,
        q.Laplace(scale=3.0) * 100,
        q.Gaussian(sigma=2.0) * 6,
        q.Geometric(scale=2.0, sensitivity=2) * 2,
    )
    spent = accountant(tree, count=2)
    assert spent.get_epsilon(1e-6) == exact.epsilon(delta=1e-6)
    assert spent.composition.epsilon_bounds(delta=1e-6) == exact.epsilon_bounds(delta=1e-6)
    assert spent.ledger == dp_event.SelfComposedDpEvent(tree, 2)


def test_a_sampled_release_that_tells_nearly_everything_costs_its_rate() -> None:
    spent = accountant(
        dp_event.PoissonSampledDpEvent(0.1, dp_event.DiscreteLaplaceDpEvent(1000.0, 1))
    )
    bounds = spent.composition.delta_bounds(epsilon=1.0)
    assert 0.1 in bounds  # less than 1e-400 away from it
    assert bounds.width <= 1e-12


def test_one_at_a_time_is_all_at_once() -> None:
    spent = QuaestorAccountant()
    for _ in range(100):
        spent.compose(STEP)
        spent.compose(LAPLACE)
    assert len(spent.composition.releases) == 2
    both = dp_event.ComposedDpEvent([STEP, LAPLACE])
    assert spent.get_epsilon(1e-6) == accountant(both, count=100).get_epsilon(1e-6)


def test_asking_between_steps_does_not_freeze_the_answer() -> None:
    spent = accountant(GAUSSIAN)
    once = spent.get_epsilon(1e-6)
    assert spent.compose(GAUSSIAN).get_epsilon(1e-6) > once


def test_replacing_a_person_moves_a_sum_twice_as_far() -> None:
    for event, release in (
        (GAUSSIAN, q.Gaussian(sigma=2.0, sensitivity=2.0)),
        (LAPLACE, q.Laplace(scale=3.0, sensitivity=2.0)),
        (GEOMETRIC, q.Geometric(scale=2.0, sensitivity=4)),
    ):
        assert from_dp_event(event, neighboring_relation=REPLACE) == (release,)
        exact = q.compose(release).delta(epsilon=0.25)
        assert accountant(event, REPLACE).get_delta(0.25) == exact


def test_gaussians_on_one_sample_are_one_gaussian() -> None:
    inner = dp_event.ComposedDpEvent(
        [
            dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(2.0), 3),
            dp_event.GaussianDpEvent(2.0),
        ]
    )
    (release,) = from_dp_event(dp_event.PoissonSampledDpEvent(0.1, inner))
    assert release == q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=0.1)


@given(st.lists(st.tuples(st.floats(0.5, 50.0), st.integers(1, 100)), min_size=2, max_size=5))
def test_the_one_gaussian_has_no_more_noise_than_the_several(some: list[tuple[float, int]]) -> None:
    events = [
        dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(sigma), count)
        for sigma, count in some
    ]
    (release,) = from_dp_event(
        dp_event.PoissonSampledDpEvent(0.5, dp_event.ComposedDpEvent(events))
    )
    assert isinstance(release, q.PoissonSampled)
    assert isinstance(release.release, q.Gaussian)
    exact = sum(count / Fraction(sigma) ** 2 for sigma, count in some)
    excess = exact * Fraction(release.release.sigma) ** 2
    assert 1 - Fraction(1, 10**15) <= excess <= 1


def test_sampling_without_replacement_amplifies_as_it_should() -> None:
    event = dp_event.SampledWithoutReplacementDpEvent(1000, 10, RESPONSE)
    inner = q.compose(q.PureDP(epsilon=math.log(3)))
    spent = accountant(event, REPLACE)
    for epsilon in (0.0, 0.001, 0.01):
        exact = 0.01 * inner.delta(epsilon=math.log1p(math.expm1(epsilon) / 0.01))
        assert spent.get_delta(epsilon) == pytest.approx(exact, rel=1e-9)


def test_a_tree_is_one_gaussian_for_each_of_its_levels() -> None:
    for steps, levels in ((1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), ([4, 8, 2], 4)):
        event = dp_event.SingleEpochTreeAggregationDpEvent(5.0, steps)
        releases = from_dp_event(event, neighboring_relation=SPECIAL)
        assert sum(r.counted()[1] for r in releases) == levels
        theirs = dp_accounting.rdp.RdpAccountant(neighboring_relation=SPECIAL)
        rdp = theirs.compose(event).get_epsilon(1e-6)
        assert rdp / 1.3 < accountant(event, SPECIAL).get_epsilon(1e-6) < rdp


def test_randomized_response_against_a_special_record_is_against_chance() -> None:
    noise, buckets = 0.3, 7
    true = 1 - noise + noise / buckets
    largest = max(math.log(true * buckets), -math.log(noise))
    spent = accountant(dp_event.RandomizedResponseDpEvent(noise, buckets), SPECIAL)
    assert spent.get_epsilon(0.0) == pytest.approx(largest, rel=1e-9)
    assert spent.get_delta(0.0) == pytest.approx(true - 1 / buckets, rel=1e-9)


@pytest.mark.parametrize(
    "release",
    [
        q.MixtureOfGaussians(sigma=2.0, sensitivities=(0.0, 1.0), probabilities=(0.5, 0.5)),
        q.TruncatedPoissonGaussian(sigma=2.0, rate=0.1, batch=5, population=20),
    ],
)
def test_mixtures_and_cut_samples_come_back(release: q.Release) -> None:
    assert from_dp_event(to_dp_event(release * 4)) == (release * 4,)


def test_a_sample_under_replacement_comes_back() -> None:
    release = q.PoissonSampledReplaceOne(release=q.Gaussian(sigma=1.5), rate=0.125)
    event = to_dp_event(release, neighboring_relation=REPLACE)
    assert from_dp_event(event, neighboring_relation=REPLACE) == (release,)


def test_a_sample_under_replacement_costs_what_theirs_says() -> None:
    theirs = pld.PLDAccountant(REPLACE).compose(STEP, 100).get_epsilon(1e-6)
    assert accountant(STEP, REPLACE, count=100).get_epsilon(1e-6) == pytest.approx(theirs, rel=1e-3)


def test_concentrated_privacy_with_an_offset_costs_what_its_divergences_say() -> None:
    event = dp_event.ZCDpEvent(rho=0.02, xi=0.1)
    theirs = dp_accounting.rdp.RdpAccountant([1 + x / 20 for x in range(1, 1200)]).compose(event, 5)
    ours = accountant(event, count=5)
    assert (
        theirs.get_epsilon(1e-6) * 0.99 < ours.get_epsilon(1e-6) < theirs.get_epsilon(1e-6) * 1.01
    )


def test_their_calibration_runs_on_our_accountant() -> None:
    multiplier = dp_accounting.calibrate_dp_mechanism(
        QuaestorAccountant,
        dp_event.GaussianDpEvent,
        target_epsilon=1.0,
        target_delta=1e-6,
        bracket_interval=dp_accounting.ExplicitBracketInterval(1.0, 10.0),
    )
    exact = q.calibrate(lambda s: q.Gaussian(sigma=s), epsilon=1.0, delta=1e-6)
    assert multiplier == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("shape", [0.0, 1.0, 2.5, math.inf])
@pytest.mark.parametrize("run", [GAUSSIAN, dp_event.ComposedDpEvent([GAUSSIAN, LAPLACE])])
def test_the_best_run_costs_less_than_their_divergences_say(run: Any, shape: float) -> None:
    event = dp_event.RepeatAndSelectDpEvent(run, 8.0, shape)
    theirs = dp_accounting.rdp.RdpAccountant([1 + x / 10 for x in range(1, 640)]).compose(event)
    ours = accountant(event)
    assert ours.get_epsilon(1e-6) < theirs.get_epsilon(1e-6)
    assert ours.get_epsilon(1e-6) > accountant(run).get_epsilon(1e-6)
    assert to_dp_event(*from_dp_event(event)) == event


def test_the_best_run_under_replacement_has_runs_under_replacement() -> None:
    event = dp_event.RepeatAndSelectDpEvent(RESPONSE, 4.0, 1.0)
    (release,) = from_dp_event(event, neighboring_relation=REPLACE)
    (response,) = from_dp_event(RESPONSE, neighboring_relation=REPLACE)
    assert release == q.RepeatAndSelect(release=response, mean=4.0, shape=1.0)
    nothing = dp_event.RepeatAndSelectDpEvent(dp_event.NoOpDpEvent(), 4.0, 1.0)
    assert from_dp_event(nothing) == ()
    assert (
        accountant(
            dp_event.RepeatAndSelectDpEvent(dp_event.NonPrivateDpEvent(), 4.0, 1.0)
        ).get_epsilon(1e-6)
        == math.inf
    )


@pytest.mark.parametrize(
    "inner",
    [
        CONCENTRATED,
        STEP,
        dp_event.ComposedDpEvent([GAUSSIAN, LAPLACE]),
        dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0], [0.5, 0.5]),
    ],
)
def test_a_sample_of_anything_costs_less_than_the_whole(inner: Any) -> None:
    event = dp_event.PoissonSampledDpEvent(0.25, inner)
    assert accountant(event).get_delta(0.1) < accountant(inner).get_delta(0.1)
    assert to_dp_event(*from_dp_event(event)) == event


def test_every_kind_of_event_is_read_or_its_refusal_says_why() -> None:
    from quaestor.interop.dp_accounting.conversion import _READERS

    kinds = {
        kind
        for kind in vars(dp_event).values()
        if isinstance(kind, type) and issubclass(kind, dp_event.DpEvent)
    }
    assert kinds - set(_READERS) == {dp_event.DpEvent, dp_event.UnsupportedDpEvent}


# What is refused, and what is worth nothing.


@pytest.mark.parametrize(
    ("event", "relation"),
    [
        (RESPONSE, ADD_OR_REMOVE),
        (dp_event.PoissonSampledDpEvent(0.1, LAPLACE), REPLACE),
        (dp_event.PoissonSampledDpEvent(0.1, GEOMETRIC), REPLACE),
        (dp_event.TruncatedSubsampledGaussianDpEvent(10, 0.1, 5, 1.0), REPLACE),
        (dp_event.TruncatedSubsampledGaussianDpEvent(10, 1.1, 5, 1.0), ADD_OR_REMOVE),
        (dp_event.TruncatedSubsampledGaussianDpEvent(10, 0.1, 1.5, 1.0), ADD_OR_REMOVE),
        (dp_event.MixtureOfGaussiansDpEvent(1.0, [1.0], [1.0]), REPLACE),
        (dp_event.MixtureOfGaussiansDpEvent(1.0, [1.0], [0.5]), ADD_OR_REMOVE),
        (dp_event.MixtureOfGaussiansDpEvent(1.0, [1.0], [0.5, 0.5]), ADD_OR_REMOVE),
        (dp_event.MixtureOfGaussiansDpEvent(1.0, [-1.0], [1.0]), ADD_OR_REMOVE),
        (dp_event.SingleEpochTreeAggregationDpEvent(1.0, 4), ADD_OR_REMOVE),
        (dp_event.SingleEpochTreeAggregationDpEvent(1.0, 0), SPECIAL),
        (dp_event.SingleEpochTreeAggregationDpEvent(1.0, []), SPECIAL),
        (dp_event.SampledWithoutReplacementDpEvent(10, 1, GEOMETRIC), ADD_OR_REMOVE),
        (dp_event.SampledWithoutReplacementDpEvent(10, 1, FIXED_SAMPLE), REPLACE),
        (dp_event.SampledWithoutReplacementDpEvent(10, 11, GEOMETRIC), REPLACE),
        (dp_event.SampledWithoutReplacementDpEvent(10, 0, GEOMETRIC), REPLACE),
        (dp_event.SampledWithReplacementDpEvent(10, 1, RESPONSE), REPLACE),
        (dp_event.SampledWithReplacementDpEvent(10, 0, GEOMETRIC), REPLACE),
        (dp_event.SampledWithReplacementDpEvent(1, 1, GEOMETRIC), REPLACE),
        (dp_event.SampledWithReplacementDpEvent(10, 1, GEOMETRIC), ADD_OR_REMOVE),
        (dp_event.PoissonSampledDpEvent(1.1, GAUSSIAN), ADD_OR_REMOVE),
        (dp_event.ZCDpEvent(0.1, -0.1), ADD_OR_REMOVE),
        (dp_event.ZCDpEvent(-0.1), ADD_OR_REMOVE),
        (dp_event.GaussianDpEvent(-1.0), ADD_OR_REMOVE),
        (dp_event.GaussianDpEvent(math.nan), ADD_OR_REMOVE),
        (dp_event.GaussianDpEvent(math.inf), ADD_OR_REMOVE),
        (dp_event.GaussianDpEvent("1"), ADD_OR_REMOVE),
        (dp_event.DiscreteLaplaceDpEvent(-1.0, 1), ADD_OR_REMOVE),
        (dp_event.DiscreteLaplaceDpEvent(1.0, 1.5), ADD_OR_REMOVE),
        (dp_event.RandomizedResponseDpEvent(1.5, 2), REPLACE),
        (dp_event.RandomizedResponseDpEvent(0.5, 0), REPLACE),
        (dp_event.RandomizedResponseDpEvent(1e-310, 2), REPLACE),
        (dp_event.SelfComposedDpEvent(GAUSSIAN, 0), ADD_OR_REMOVE),
        (dp_event.SelfComposedDpEvent(GAUSSIAN, 10**16), ADD_OR_REMOVE),
        (dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 0.5, 1.0), ADD_OR_REMOVE),
        (dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 2.0, -1.0), ADD_OR_REMOVE),
        (dp_event.RepeatAndSelectDpEvent(RESPONSE, 2.0, 1.0), ADD_OR_REMOVE),
        (dp_event.RepeatAndSelectDpEvent(dp_event.UnsupportedDpEvent(), 2.0, 1.0), REPLACE),
        (dp_event.UnsupportedDpEvent(), ADD_OR_REMOVE),
        (dp_event.DpEvent(), ADD_OR_REMOVE),
    ],
)
def test_what_is_not_certain_is_refused(event: Any, relation: Any) -> None:
    spent = QuaestorAccountant(relation)
    assert not spent.supports(event)
    with pytest.raises(dp_accounting.UnsupportedEventError, match="must be"):
        spent.compose(dp_event.ComposedDpEvent([CONCENTRATED, event]))
    assert spent.composition.releases == ()
    assert spent.ledger == dp_event.NoOpDpEvent()
    with pytest.raises(q.InvalidParameter, match="event must be"):
        from_dp_event(event, neighboring_relation=relation)


def test_a_kind_of_gaussian_is_not_taken_for_one() -> None:
    class CorrelatedNoise(dp_event.GaussianDpEvent):  # type: ignore[misc]
        """Something that a later version or a user may define."""

    assert not QuaestorAccountant().supports(CorrelatedNoise(1.0))


def test_too_many_in_all_are_refused_and_leave_no_trace() -> None:
    spent = accountant(GAUSSIAN, count=10**15)
    with pytest.raises(dp_accounting.UnsupportedEventError, match="at most"):
        spent.compose(GAUSSIAN)
    assert spent.composition.releases == (q.Gaussian(sigma=2.0) * 10**15,)


@pytest.mark.parametrize(
    ("event", "relation"),
    [
        (dp_event.GaussianDpEvent(0.0), ADD_OR_REMOVE),
        (dp_event.LaplaceDpEvent(0), REPLACE),
        (dp_event.DiscreteLaplaceDpEvent(0, 1), ADD_OR_REMOVE),
        (dp_event.MixtureOfGaussiansDpEvent(0, [0.0, 1.0], [0.5, 0.5]), ADD_OR_REMOVE),
        (dp_event.TruncatedSubsampledGaussianDpEvent(10, 0.1, 5, 0.0), ADD_OR_REMOVE),
        (dp_event.SingleEpochTreeAggregationDpEvent(0.0, 5), SPECIAL),
        (dp_event.RandomizedResponseDpEvent(0.0, 2), REPLACE),
        (dp_event.PoissonSampledDpEvent(0.5, dp_event.GaussianDpEvent(0.0)), ADD_OR_REMOVE),
        (dp_event.SampledWithoutReplacementDpEvent(9, 1, dp_event.NonPrivateDpEvent()), REPLACE),
    ],
)
def test_without_noise_there_is_no_promise(event: Any, relation: Any) -> None:
    spent = accountant(event, relation)
    assert spent.get_epsilon(0.5) == math.inf
    assert spent.get_delta(100.0) == 1.0
    assert from_dp_event(event, neighboring_relation=relation) == (
        q.ApproxDP(epsilon=0.0, delta=1.0),
    )


@pytest.mark.parametrize(
    ("event", "relation"),
    [
        (dp_event.RandomizedResponseDpEvent(1.0, 2), REPLACE),
        (dp_event.RandomizedResponseDpEvent(0.0, 1), REPLACE),
        (dp_event.PoissonSampledDpEvent(0.0, GAUSSIAN), ADD_OR_REMOVE),
        (dp_event.PoissonSampledDpEvent(0.0, dp_event.NonPrivateDpEvent()), ADD_OR_REMOVE),
        (dp_event.PoissonSampledDpEvent(0.5, dp_event.NoOpDpEvent()), ADD_OR_REMOVE),
        (dp_event.SampledWithoutReplacementDpEvent(9, 1, dp_event.NoOpDpEvent()), REPLACE),
        (dp_event.ComposedDpEvent([]), SPECIAL),
    ],
)
def test_what_tells_nothing_costs_nothing(event: Any, relation: Any) -> None:
    assert accountant(event, relation).get_epsilon(0.0) == 0.0


# There and back.

GAUSSIANS = st.builds(lambda s: q.Gaussian(sigma=s), st.floats(0.01, 1e6))
LAPLACES = st.builds(lambda s: q.Laplace(scale=s), st.floats(0.01, 1e6))
CONCENTRATEDS = st.builds(lambda r: q.ZeroConcentratedDP(rho=r), st.floats(0.0, 1e6))
SAMPLED = st.builds(
    lambda inner, rate: q.PoissonSampled(release=inner, rate=rate),
    GAUSSIANS | LAPLACES.filter(lambda laplace: laplace.scale > 0.1),
    st.floats(0.0, 1.0),
)
COUNTS = st.integers(1, 10**15)
SUMS: list[Any] = [q.Gaussian, q.Laplace]


@given(GAUSSIANS | LAPLACES | CONCENTRATEDS | SAMPLED, COUNTS)
@settings(deadline=None)
def test_what_both_sides_can_say_comes_back(release: q.Release, count: int) -> None:
    assert from_dp_event(to_dp_event(release * count)) == (release * count,)


@given(st.floats(0.01, 1e6), st.sampled_from(SUMS), COUNTS)
def test_replacement_comes_back_with_its_two_norms(noise: float, kind: Any, count: int) -> None:
    name = "sigma" if kind is q.Gaussian else "scale"
    release = kind(**{name: noise}, sensitivity=2.0) * count
    event = to_dp_event(release, neighboring_relation=REPLACE)
    assert from_dp_event(event, neighboring_relation=REPLACE) == (release,)


@given(st.floats(0.01, 1e6), st.floats(0.01, 1e6), st.sampled_from([ADD_OR_REMOVE, REPLACE]))
def test_another_sensitivity_comes_back_as_a_ratio_with_no_less_loss(
    sigma: float, sensitivity: float, relation: Any
) -> None:
    event = to_dp_event(
        q.Gaussian(sigma=sigma, sensitivity=sensitivity), neighboring_relation=relation
    )
    (back,) = from_dp_event(event, neighboring_relation=relation)
    assert isinstance(back, q.Gaussian)
    ratio = Fraction(sensitivity) / Fraction(sigma)
    returned = Fraction(back.sensitivity) / Fraction(back.sigma)
    assert ratio <= returned <= ratio * (1 + Fraction(1, 10**15))


@given(st.floats(0.01, 1e6), st.integers(1, 100), st.sampled_from([1, 2]))
def test_geometric_noise_comes_back_with_no_less_loss(
    scale: float, sensitivity: int, norms: int
) -> None:
    release = q.Geometric(scale=scale, sensitivity=norms * sensitivity)
    relation = ADD_OR_REMOVE if norms == 1 else REPLACE
    event = to_dp_event(release, neighboring_relation=relation)
    assert event.sensitivity == sensitivity
    (back,) = from_dp_event(event, neighboring_relation=relation)
    assert isinstance(back, q.Geometric)
    assert back.sensitivity == release.sensitivity
    assert scale * (1 - 1e-15) <= back.scale <= scale


@given(st.floats(1e-4, 650.0), st.integers(2, 100), st.integers(1, 20))
def test_randomized_response_comes_back_with_no_less_loss(
    epsilon: float, categories: int, sample: int
) -> None:
    release = q.SampledWithoutReplacement(
        release=q.RandomizedResponse(epsilon=epsilon, categories=categories),
        sample=sample,
        population=20,
    )
    assert isinstance(release.release, q.Release)
    event = to_dp_event(release.release, neighboring_relation=REPLACE)
    (back,) = from_dp_event(event, neighboring_relation=REPLACE)
    assert isinstance(back, q.RandomizedResponse)
    assert back.categories == categories
    assert epsilon <= back.epsilon <= epsilon * (1 + 1e-9)
    event = to_dp_event(release, neighboring_relation=REPLACE)
    assert (event.source_dataset_size, event.sample_size) == (20, sample)


def test_no_promise_comes_back() -> None:
    release = q.ApproxDP(epsilon=0.0, delta=1.0)
    assert to_dp_event(release) == dp_event.NonPrivateDpEvent()
    assert from_dp_event(to_dp_event(release)) == (release,)


@pytest.mark.parametrize(
    ("release", "relation"),
    [
        (q.PureDP(epsilon=0.1), ADD_OR_REMOVE),
        (q.ApproxDP(epsilon=0.1, delta=1e-8) * 30, ADD_OR_REMOVE),
        (q.GaussianDP(mu=1.0), ADD_OR_REMOVE),
        (q.DiscreteGaussian(sigma=1.0), ADD_OR_REMOVE),
        (q.Staircase(epsilon=1.0), ADD_OR_REMOVE),
        (q.ProbabilityVectors(p=(0.5, 0.5), q=(0.4, 0.6)), ADD_OR_REMOVE),
        (q.RandomizedResponse(epsilon=1.0), ADD_OR_REMOVE),
        (q.RandomizedResponse(epsilon=1e-100), REPLACE),
        (q.RandomizedResponse(epsilon=1.0, categories=10**15), REPLACE),
        (q.Geometric(scale=1.0, sensitivity=3), REPLACE),
        (q.Gaussian(sigma=1e150, sensitivity=1e-150), ADD_OR_REMOVE),
        (q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=0.5), REPLACE),
        (q.PoissonSampledReplaceOne(release=q.Gaussian(sigma=1.0), rate=0.5), ADD_OR_REMOVE),
        (q.PoissonSampled(release=q.PureDP(epsilon=1.0), rate=0.5), ADD_OR_REMOVE),
        (
            q.SampledWithoutReplacement(release=q.Geometric(scale=1.0), sample=1, population=2),
            ADD_OR_REMOVE,
        ),
        ("PureDP(epsilon=1)", ADD_OR_REMOVE),
    ],
)
def test_what_their_events_cannot_say_is_refused(release: Any, relation: Any) -> None:
    with pytest.raises(q.InvalidParameter, match="must be"):
        to_dp_event(release, neighboring_relation=relation)


# Events as they are printed.


@pytest.mark.parametrize(
    "event",
    [
        dp_accounting.GaussianDpEvent(1.5),
        dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0)),
        dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(2.0), 7),
        dp_accounting.ComposedDpEvent(
            [
                dp_accounting.ZCDpEvent(0.1),
                dp_accounting.NoOpDpEvent(),
                dp_accounting.NonPrivateDpEvent(),
            ]
        ),
        dp_accounting.SampledWithoutReplacementDpEvent(100, 5, dp_accounting.GaussianDpEvent(1.0)),
    ],
    ids=repr,
)
def test_an_event_is_read_back_from_what_it_prints(event: Any) -> None:
    assert event_from_text(repr(event)) == event


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "__import__('os').system('true')",
        "GaussianDpEvent(noise_multiplier=1.0",
        "GaussianDpEvent(noise=1.0)",
        "GaussianDpEvent(noise_multiplier='1')",
        "Gaussian(noise_multiplier=1.0)",
        "GaussianDpEvent(noise_multiplier=(lambda: 1)())",
        "(" * 5000,
        "x" * 200_000,
    ],
    ids=range(10),
)
def test_anything_else_is_refused_and_never_run(text: str) -> None:
    with pytest.raises(q.InvalidParameter, match="event must be"):
        event_from_text(text)


# Without dp-accounting.


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    return done.stdout


def test_the_package_alone_does_not_import_it() -> None:
    code = "import sys, quaestor.interop\nprint('dp_accounting' in sys.modules)"
    assert run(code) == "False\n"


def test_its_absence_is_said_with_the_extra_that_brings_it() -> None:
    code = (
        "import sys\n"
        "sys.modules['dp_accounting'] = None\n"
        "from quaestor.errors import MissingExtra\n"
        "try:\n"
        "    import quaestor.interop.dp_accounting\n"
        "except MissingExtra as missing:\n"
        "    print(missing)\n"
    )
    assert "needs dp-accounting" in run(code)
    assert install_command("interop") in run(code)


def test_a_sample_of_a_fixed_size_may_be_for_anything_about_replacement() -> None:
    run = dp_event.ComposedDpEvent(
        [LAPLACE, CONCENTRATED, dp_event.SelfComposedDpEvent(GAUSSIAN, 3)]
    )
    event = dp_event.SampledWithoutReplacementDpEvent(100, 5, run)
    (release,) = from_dp_event(event, neighboring_relation=REPLACE)
    assert isinstance(release, q.SampledWithoutReplacement)
    assert isinstance(release.release, q.ReleaseSum)
    (whole,) = from_dp_event(
        dp_event.SampledWithoutReplacementDpEvent(5, 5, run), neighboring_relation=REPLACE
    )
    parts, all_of_it = (q.compose(each).epsilon(delta=1e-6) for each in (release, whole))
    assert parts < all_of_it
    back = to_dp_event(release, neighboring_relation=REPLACE)
    assert from_dp_event(back, neighboring_relation=REPLACE) == (release,)
