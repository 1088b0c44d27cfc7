"""Laws cannot lose mass: both worlds' probabilities, side by side, to the ends of floats."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import mpmath as mp
import numpy as np
import pytest

import quaestor as q
from quaestor.accounting.loss.engine.loss_profile import LossProfile
from quaestor.accounting.loss.laws.finite import FiniteLoss
from quaestor.accounting.loss.laws.gaussian import GaussianLoss
from quaestor.accounting.loss.laws.mixture import complex_log_mixture, log_mixture
from quaestor.accounting.loss.laws.two_changes import two_changes
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.certified_arithmetic import certified_arithmetic
from tests.oracles import losses as oracle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.numerics.complexes import Complexes, Floats

NEVER = np.zeros(0)


def delta(pair: oracle.Pair, at: float) -> mp.mpf:
    """The larger direction's sum of (P - e^at Q)_+."""
    return oracle.worst_delta(pair, count=1, at=at)


# Construction.


def test_masses_that_do_not_sum_to_one_are_refused() -> None:
    half = np.log(np.array([0.5, 0.25]))
    with pytest.raises(q.CertificationFault, match=r"first world sum to 0\.75"):
        FiniteLoss(np.array([0.0, 0.0]), half, half)
    with pytest.raises(q.CertificationFault, match="second world"):
        FiniteLoss(np.array([1.0]), np.zeros(1), np.array([-1.0]))


def test_a_part_that_is_infinite_counts() -> None:
    log = np.log(np.array([0.75]))
    told = Bounds.exactly(0.25)
    law = FiniteLoss(np.zeros(1), log, log, infinite=told, opposite=told)
    assert law.masses[0] == pytest.approx(1.0, abs=1e-15)  # given that the loss is finite
    with pytest.raises(q.CertificationFault):
        FiniteLoss(np.zeros(1), log, log, infinite=told, opposite=Bounds.exactly(0.125))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_mass_is_refused(bad: float) -> None:
    good = np.log(np.array([0.5, 0.5]))
    for place in range(3):
        columns = [np.zeros(2), good.copy(), good.copy()]
        columns[place][0] = bad
        with pytest.raises(q.CertificationFault, match="not a finite number"):
            FiniteLoss(*columns)


def test_a_loss_that_is_not_the_ratio_of_its_masses_is_refused() -> None:
    half = np.log(np.array([0.5, 0.5]))
    with pytest.raises(q.CertificationFault, match="ratio"):
        FiniteLoss(np.array([1.0, -1.0]), half, half)


def test_a_law_of_which_everything_is_told_has_no_atoms() -> None:
    law = FiniteLoss(
        NEVER, NEVER, NEVER, infinite=Bounds.exactly(1.0), opposite=Bounds.exactly(1.0)
    )
    values, errors = law.log_moment(np.array([2.0 + 1.0j]))
    assert values[0] == 0.0
    assert errors[0] == 0.0
    assert LossProfile([(law, 3)]).delta_bounds(epsilon=5.0) == Bounds.exactly(1.0)


def test_group_privacy_keeps_both_worlds() -> None:
    for epsilon, told in ((1000.0, 1e-9), (1.0, 0.0), (1.0, 0.3), (0.0, 0.49), (3.0, 0.7)):
        law = two_changes(epsilon=epsilon, delta=told)
        total = math.fsum(np.exp(law.log_first)), math.fsum(np.exp(law.log_second))
        assert total[0] + law.infinite.upper >= 1 - 1e-15
        assert total[1] + law.opposite.upper >= 1 - 1e-15


# Certified arithmetic.


def test_overflow_inside_is_an_error_of_our_own_and_not_a_number() -> None:
    for operation in (
        lambda: np.exp(np.array([1000.0])),
        lambda: np.log(np.zeros(1)),
        lambda: np.array([math.inf]) - np.array([math.inf]),
    ):
        with pytest.raises(q.BeyondFloats), certified_arithmetic():
            operation()
    with certified_arithmetic():
        assert np.exp(np.array([-1000.0]))[0] == 0.0  # underflow is accounted for


class Overflowing(GaussianLoss):
    """A law in which somebody forgot to clip: the error of its moment says 0."""

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        return 0.0 * s, 1 / np.exp(s.real + 1000.0)

    @classmethod
    def together(cls, laws: Sequence[tuple[Law, int]]) -> list[tuple[Law, int]]:
        """As they are."""
        return list(laws)


class Lost(Overflowing):
    """A law whose error is not a number."""

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        return 0.0 * s, np.full(s.shape, math.nan)


def test_a_law_that_overflows_certifies_nothing() -> None:
    law = Overflowing(1.0)
    with pytest.raises(q.BeyondFloats):
        law.log_moment(np.array([1.0 + 0.0j]))
    with np.errstate(all="ignore"), pytest.raises(q.BeyondFloats):  # whatever the caller allows
        law.log_moment(np.array([1.0 + 0.0j]))
    assert LossProfile([(law, 3)]).delta_bounds(epsilon=1.0) == Bounds(lower=0.0, upper=1.0)


def test_an_error_that_is_not_a_number_is_a_fault() -> None:
    with pytest.raises(q.CertificationFault):
        Lost(1.0).log_moment(np.array([1.0 + 0.0j]))


# Mixtures.


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e-20, 0.01, 0.5, 1 - 1e-16])
def test_mixtures_are_accurate_wherever_floats_are(rate: float) -> None:
    losses = np.array([-1e300, -800.0, -1.0, -1e-18, 0.0, 1e-12, 0.9, 1.1, 40.0, 740.0, 5e3, 1e300])
    with certified_arithmetic():
        found = log_mixture(losses, rate)
        turned = complex_log_mixture(losses[:-1] + 0.5j, rate)
    with mp.workdps(400):
        for loss, value in zip(losses, found, strict=True):
            exponent = mp.mpf(float(loss))
            if exponent > 1e6:
                truth = exponent + mp.log(mp.mpf(rate))
            else:
                truth = mp.log(1 - mp.mpf(rate) + mp.mpf(rate) * mp.exp(max(exponent, -1e4)))
            slope = min(1, mp.exp(mp.log(mp.mpf(rate)) + min(exponent, 1e6) - min(truth, 1e6)))
            size = abs(truth) + slope * (min(abs(exponent), 1e6) - mp.log(mp.mpf(rate)))
            assert abs(mp.mpf(float(value)) - truth) <= 16 * mp.mpf(2) ** -53 * size + mp.mpf(
                5e-324
            )
        for loss, value in zip(losses[:-1], turned, strict=True):
            exponent = mp.mpc(max(float(loss), -1e4), 0.5)
            truth = mp.log(1 - mp.mpf(rate) + mp.mpf(rate) * mp.exp(exponent))
            assert abs(mp.mpc(complex(value)) - truth) <= 1e-13 * (1 + abs(truth))


# Sampling, at ratios of shift to noise where one measure's masses underflow beside the other's.


PAIRS = {
    "far apart": (
        q.DiscreteGaussian(sigma=0.5, sensitivity=40),
        oracle.discrete_gaussian(sigma=0.5, sensitivity=40),
    ),
    "very far apart": (
        q.DiscreteGaussian(sigma=0.1, sensitivity=8),
        oracle.discrete_gaussian(sigma=0.1, sensitivity=8),
    ),
    "steep": (q.Geometric(scale=1.0, sensitivity=800), oracle.geometric(scale=1, sensitivity=800)),
    "failing": (
        q.ApproxDP(epsilon=1000.0, delta=1e-9),
        oracle.failing_response(epsilon=1000, delta=1e-9),
    ),
    "mild": (
        q.DiscreteGaussian(sigma=2.0, sensitivity=3),
        oracle.discrete_gaussian(sigma=2, sensitivity=3),
    ),
}
every_pair = pytest.mark.parametrize("name", PAIRS)


@every_pair
@pytest.mark.parametrize("rate", [1e-12, 0.01, 0.1, 0.999])
@pytest.mark.parametrize("at", [0.0, 1.0, 6.0])
def test_one_sampled_release_is_what_both_measures_say(name: str, rate: float, at: float) -> None:
    release, pair = PAIRS[name]
    truth = delta(oracle.sampled(pair, rate), at)
    bounds = q.compose(q.PoissonSampled(release=release, rate=rate)).delta_bounds(epsilon=at)
    assert truth in bounds
    assert bounds.width < 1e-10 * bounds.upper + 1e-11  # losses in the thousands are rounded


@every_pair
def test_several_sampled_releases_contain_what_certainly_happens(name: str) -> None:
    release, pair = PAIRS[name]
    one = delta(oracle.sampled(pair, 0.1), 1.0)
    bounds = q.compose(q.PoissonSampled(release=release, rate=0.1) * 5).delta_bounds(epsilon=1.0)
    assert bounds.upper >= one
    if name != "mild":  # each is told with probability 1/10, and else nothing is lost
        assert Fraction(40951, 100000) - Fraction(1, 10**6) <= bounds.upper
        assert bounds.lower <= Fraction(40951, 100000)
        assert bounds.relative_width < 1e-4


@every_pair
@pytest.mark.parametrize("at", [0.0, 1.0])
def test_sampling_without_replacement_is_what_both_measures_say(name: str, at: float) -> None:
    release, (first, second) = PAIRS[name]
    rate = mp.mpf(math.nextafter(0.1, 1.0))
    with mp.workdps(60):
        above = [
            max((1 - rate) * b + rate * a - mp.exp(at) * b, 0)
            for a, b in zip(first, second, strict=True)
        ]
        truth = mp.fsum(above)  # losses above epsilon are positive ones
    sampled = q.SampledWithoutReplacement(release=release, sample=1, population=10)
    bounds = q.compose(sampled).delta_bounds(epsilon=at)
    assert truth in bounds
    assert bounds.relative_width < 1e-10


def test_cells_whose_lesser_share_carries_the_other_world() -> None:
    pair = q.DensityPair(p=(1.0,), q=(1.0,), low=(-50.0,), high=(50.0,))
    bounds = q.compose(pair).delta_bounds(epsilon=1.0)
    assert bounds.lower == 0.0
    assert bounds.upper >= 1 - math.exp(-49.0)


# To the ends of floats.


ENDS = (
    q.GaussianDP(mu=1e-162),
    q.Gaussian(sigma=1e-150, sensitivity=1e150),
    q.Gaussian(sigma=1e150, sensitivity=1e-150),
    q.Laplace(scale=1e-150),
    q.Laplace(scale=1e150),
    q.Geometric(scale=1e-150),
    q.RandomizedResponse(epsilon=1e-150),
    q.ApproxDP(epsilon=1e6, delta=1.0),
    q.ProbabilityVectors(p=(1.0, 0.0), q=(0.0, 1.0)),
    q.ProbabilityVectors(p=(5e-324, 1.0), q=(1.0, 0.0)),
    q.PoissonSampled(release=q.Gaussian(sigma=1e-100), rate=0.5),
    q.PoissonSampled(release=q.Laplace(scale=1e-100), rate=0.5),
    q.PoissonSampled(release=q.PureDP(epsilon=1e6), rate=5e-324),
    q.PoissonSampled(release=q.Geometric(scale=1e-150), rate=5e-324),
    q.PoissonSampled(release=q.DiscreteGaussian(sigma=0.05, sensitivity=100_000), rate=0.5),
)
LONG = ENDS[-3:]  # seconds each, if there are many of them


@pytest.mark.parametrize(
    ("release", "count"),
    [
        *((release, 1) for release in ENDS),
        *((release, 10**15) for release in ENDS if release not in LONG),
        *(pytest.param(release, 10**15, marks=pytest.mark.slow) for release in LONG),
    ],
    ids=str,
)
def test_every_valid_release_has_a_bound(release: q.Release, count: int) -> None:
    for at in (0.0, 1.0):
        bounds = q.compose(release * count).delta_bounds(epsilon=at)
        assert 0.0 <= bounds.lower <= bounds.upper <= 1.0


def test_gaussians_too_weak_to_be_squared_still_cost_something() -> None:
    weak = q.compose(q.GaussianDP(mu=1e-162))
    truth = mp.erf(mp.mpf(1e-162) / (2 * mp.sqrt(2)))  # delta at epsilon 0
    assert truth in weak.delta_bounds(epsilon=0.0)
    assert weak.epsilon(delta=0.0) == math.inf


@pytest.mark.parametrize(("scale", "sensitivity"), [(56660384606573.516, 2), (8.35e110, 1)])
def test_weak_geometric_noise_keeps_its_masses(scale: float, sensitivity: int) -> None:
    bounds = q.compose(q.Geometric(scale=scale, sensitivity=sensitivity)).delta_bounds(epsilon=0.0)
    assert sensitivity / scale / 4 < bounds.upper <= sensitivity / scale  # half of it, and no less


def test_what_is_nearly_all_told_is_not_called_all() -> None:
    rest = 2.0**-52
    release = q.ProbabilityVectors(p=(1 - rest, rest), q=(0.0, 1.0))
    bounds = q.compose(release).delta_bounds(epsilon=37.0)
    assert bounds.lower <= 1 - rest <= bounds.upper


def test_a_loss_below_every_float_is_not_no_loss() -> None:
    release = q.PoissonSampled(release=q.Geometric(scale=46.75, sensitivity=40), rate=5e-324)
    for epsilon in (0.0, 5e-324):
        assert q.compose(release).delta(epsilon=epsilon) > 0.0


def test_a_weak_release_that_is_nearly_always_sampled_is_answered_in_both_ways() -> None:
    inner = q.Staircase(epsilon=9.676043174806888e-13, gamma=0.5)
    release = q.PoissonSampled(release=inner, rate=0.9999999626139973)
    whole = q.compose(inner).delta_bounds(epsilon=3.024482635404003e-13)
    assert 0.0 < q.compose(release).delta(epsilon=3.024482635404003e-13) <= whole.upper


def test_moments_count_what_atoms_leave_out() -> None:
    inner = q.DiscreteGaussian(sigma=0.6973951939451297, sensitivity=3)
    release = q.PoissonSampled(release=inner, rate=0.04425555294876919)
    cost = release.log_moment(11.541770120109126)
    assert cost is None or cost >= 1292  # 1292.5796..., by a sum of both worlds in balls
