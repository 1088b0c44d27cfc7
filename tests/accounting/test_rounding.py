"""Where the engine's own rounding used to be forgotten: every row against 60 digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from flint import arb

import quaestor as q
from quaestor.accounting.loss.laws.bounded_range import BoundedRangeLoss
from quaestor.accounting.loss.laws.discrete_gaussian import DiscreteGaussianLoss
from quaestor.accounting.loss.laws.laplace import LaplaceLoss
from quaestor.accounting.loss.laws.responses import Response
from quaestor.accounting.loss.laws.sampling.sampled_gaussian import SampledGaussianLoss
from quaestor.accounting.numerics.balls import working_precision
from quaestor.accounting.numerics.chi_square import chi_square_tails
from quaestor.accounting.numerics.complexes import summed
from quaestor.accounting.theorems import privacy_loss

DIGITS = 60


def gaussian_delta(mu: mp.mpf, at: mp.mpf) -> mp.mpf:
    return mp.ncdf(mu / 2 - at / mu) - mp.exp(at) * mp.ncdf(-mu / 2 - at / mu)


@pytest.mark.parametrize(("epsilon", "width"), [(1e-3, 1e-9), (1e-7, 1e-9), (1e-17, 0.05)])
@pytest.mark.parametrize("deviations", [0.31, 1.0, 2.5])
def test_tiny_lattices_do_not_cancel(epsilon: float, width: float, deviations: float) -> None:
    count, at = 3000, deviations * epsilon * math.sqrt(3000)
    with mp.workdps(DIGITS):
        e, a = mp.mpf(epsilon), mp.mpf(at)
        truth_share = 1 / (1 + mp.exp(-e))
        lie_share, truth, ways = 1 - truth_share, mp.mpf(0), mp.mpf(1)
        for lies in range(count + 1):
            kept, lied = truth_share ** (count - lies), lie_share**lies
            other = lie_share ** (count - lies) * truth_share**lies
            if (count - 2 * lies) * e > a:
                truth += ways * (kept * lied - mp.exp(a) * other)
            ways = ways * (count - lies) / (lies + 1)
    bounds = privacy_loss([q.RandomizedResponse(epsilon=epsilon) * count]).delta_bounds(epsilon=at)
    assert truth in bounds
    assert bounds.relative_width < width


def test_a_history_that_grows_a_thousand_times_pays_for_its_rounding() -> None:
    history = q.compose(q.Gaussian(sigma=0.5), q.Laplace(scale=1e9))  # so that there is a line
    history.delta_bounds(epsilon=8.0)
    for _ in range(1000):
        history = history.then(q.Gaussian(sigma=100.0))
    with mp.workdps(DIGITS):
        mu = mp.sqrt(4 + 1000 / mp.mpf(100) ** 2)
        truth = gaussian_delta(mu, mp.mpf(8))
    bounds = history.delta_bounds(epsilon=8.0)
    assert bounds.upper >= truth  # the tiny Laplace release can only add
    assert bounds.lower <= truth * (1 + mp.mpf(10) ** -6)
    assert bounds.relative_width < 1e-3


@pytest.mark.parametrize("epsilon", [0.1, 3.0, 40.0, 1000.0])
@pytest.mark.parametrize("step", [0.0, 1e-13, 1e-11, 1e-9, 1e-5])
def test_bounded_range_is_true_at_its_removable_pole(epsilon: float, step: float) -> None:
    s = complex(-0.5 + step)
    (value,), (error,) = BoundedRangeLoss(epsilon).log_moment(np.array([s]))
    with mp.workdps(DIGITS):
        e, a = mp.mpf(epsilon), mp.mpc(s) + mp.mpf(1) / 2
        ratio = e if a == 0 else mp.sinh(a * e) / a
        truth = mp.log(ratio / (2 * mp.sinh(e / 2)))
        assert abs(mp.mpc(value) - truth) <= error
    assert error < 1e-12 * (1 + epsilon)


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 300.0, 1e6])
@pytest.mark.parametrize("theta", [-1.0, -0.9999999, -0.5, -0.5 + 1e-12, 1e-300, 1e-9, 2.0])
def test_laplace_at_orders_that_nearly_vanish(epsilon: float, theta: float) -> None:
    (value,), (error,) = LaplaceLoss(epsilon).log_moment(np.array([complex(theta)]))
    with mp.workdps(400):
        e, s = mp.mpf(epsilon), mp.mpf(theta)
        a = s + mp.mpf(1) / 2
        ratio = e if a == 0 else mp.sinh(a * e) / a
        truth = mp.log(mp.exp(-e / 2) * (mp.cosh(a * e) + ratio / 2))
        assert abs(mp.mpf(value.real) - truth) <= error + mp.mpf(10) ** -380
    assert error <= 1e-13 * (abs(theta) + 1) * epsilon + 1e-13


def test_a_log_moment_is_never_rounded_down() -> None:
    for order in (1e-9, 1e-6, 0.5, 156.2):
        cost = q.Laplace(scale=1.0).log_moment(order)
        with mp.workdps(DIGITS):
            s = mp.mpf(order)
            grown = s / (1 + 2 * s) * mp.expm1(-1 - 2 * s)
            truth = s + mp.log1p(grown)
            assert cost is not None
            assert mp.mpf(cost.numerator) / cost.denominator >= truth
            assert mp.mpf(cost.numerator) / cost.denominator <= truth * (1 + mp.mpf(10) ** -9)


def test_a_sampled_laplace_moment_of_a_high_order_knows_its_error() -> None:
    release = q.PoissonSampled(release=q.Laplace(scale=1 / 11.305), rate=0.0403)
    cost = release.log_moment(156.2)
    with mp.workdps(40):
        e, rate, power = 1 / mp.mpf(1 / 11.305), mp.mpf(0.0403), mp.mpf(156.2) + 1

        def weight(loss: mp.mpf) -> mp.mpf:
            return (1 - rate + rate * mp.exp(loss)) ** power

        inside = mp.quad(lambda x: mp.exp(-(x + e) / 2) / 4 * weight(x), mp.linspace(-e, e, 60))
        truth = mp.log(weight(-e) / 2 + mp.exp(-e) / 2 * weight(e) + inside)
        assert cost is not None
        assert mp.mpf(cost.numerator) / cost.denominator >= truth
        assert mp.mpf(cost.numerator) / cost.denominator <= truth + mp.mpf(10) ** -8


@pytest.mark.parametrize("epsilon", [0.3, 200.0, 400.0, 1000.0, 1e6])
@pytest.mark.parametrize("theta", [-1.0, -0.9, -0.5, -0.1, 0.0, 0.7])
@pytest.mark.parametrize("t", [0.0, 1e-3])
def test_responses_of_any_epsilon_keep_both_worlds(epsilon: float, theta: float, t: float) -> None:
    s = complex(theta, t)
    (value,), (error,) = Response(epsilon).log_moment(np.array([s]))
    with mp.workdps(60):
        e, z = mp.mpf(epsilon), mp.mpc(s)
        truth = z * e + mp.log((1 + mp.exp(-e * (1 + 2 * z))) / (1 + mp.exp(-e)))
        if theta < -0.5:
            truth = (-1 - z) * e + mp.log((1 + mp.exp(e * (1 + 2 * z))) / (1 + mp.exp(-e)))
        off = mp.mpc(value) - truth
        turns = mp.nint(off.imag / (2 * mp.pi))
        assert abs(off - 2j * mp.pi * turns) <= error
    assert error < 1e-13 * (1 + abs(s) * epsilon + epsilon)


@pytest.mark.parametrize(("sigma", "shift"), [(0.5, 1), (0.8, 3), (0.5, 40), (3.0, 2)])
@pytest.mark.parametrize("periods", [0.2, 0.45, 1.3, 7.8, 211.4])
def test_discrete_gaussians_beyond_the_first_period(
    sigma: float, shift: int, periods: float
) -> None:
    t = periods * 2 * math.pi * sigma**2 / shift
    s = complex(0.3, t)
    (value,), (error,) = DiscreteGaussianLoss(sigma=sigma, shift=shift).log_moment(np.array([s]))
    with mp.workdps(DIGITS):
        variance, z = mp.mpf(sigma) ** 2, mp.mpc(s)
        reach = int(20 * sigma + shift * 2 + 10)
        weights = {x: mp.exp(-mp.mpf(x * x) / (2 * variance)) for x in range(-reach, reach + 1)}
        total = mp.fsum(weights.values())
        terms = (
            w * mp.exp(z * (2 * shift * x + shift**2) / (2 * variance)) for x, w in weights.items()
        )
        ratio = mp.fsum(terms) / total / mp.exp(mp.mpc(value))
        assert abs(ratio - 1) <= mp.expm1(min(error, 500.0))


@pytest.mark.parametrize("degrees", [1, 2, 3, 5, 7, 21, 22, 101])
@pytest.mark.parametrize("ratio", [1.0, 1.5, 4.0, 40.0])
@pytest.mark.parametrize("bits", [20, 53])
def test_chi_square_above_its_mean(degrees: int, ratio: float, bits: int) -> None:
    x = degrees / 2 * ratio
    with working_precision(bits):
        below, above = chi_square_tails(degrees, arb(x))
    with mp.workdps(DIGITS):
        truth = mp.gammainc(mp.mpf(degrees) / 2, mp.mpf(x), mp.inf, regularized=True)
        low, high = (
            mp.mpf(arb(end).str(50, radius=False)) for end in (above.lower(), above.upper())
        )
        slack = mp.mpf(10) ** -45
        assert low * (1 - slack) <= truth <= high * (1 + slack)
        assert below.overlaps(arb(str(1 - truth)))


@pytest.mark.parametrize("mu", [8.0, 30.0])
@pytest.mark.parametrize("removing", [True, False])
def test_sampled_gaussians_of_little_noise_charge_what_cancels(mu: float, removing: bool) -> None:  # noqa: FBT001
    law = SampledGaussianLoss(mu=mu, rate=0.1, removing=removing)
    for s in (0.4 + 0.0j, 0.4 + 0.02j):
        (value,), (error,) = law.log_moment(np.array([s]))
        with mp.workdps(40):
            power = mp.mpc(s) + 1 if removing else -mp.mpc(s)

            def integrand(x: mp.mpf, power: mp.mpc = power) -> mp.mpc:
                w = mp.mpf(0.9) + mp.mpf(0.1) * mp.exp(mu * x - mp.mpf(mu) ** 2 / 2)
                return mp.npdf(x) * w**power

            high = int(max(power.real, 0) * mu) + 14
            places = int(8 * mu)  # w has no zero within pi/mu: the sum is off by e^-150
            total = mp.fsum(
                integrand(mp.mpf(i) / places) for i in range(-14 * places, high * places)
            )
            ratio = total / places / mp.exp(mp.mpc(value))
            # rates 0.9 and 0.1 as floats do not sum to one exactly
            assert abs(ratio - 1) <= mp.expm1(error) + mp.mpf(2) ** -52
        assert error < 1e-10


def test_a_sum_over_a_million_terms_is_within_its_error() -> None:
    generator = np.random.default_rng(7)
    values = np.asarray(generator.normal(size=(1, 1_000_000)) * (1 + 0.5j), np.complex128)
    counts = np.floor(generator.uniform(1.0, 9.0, size=1_000_000))
    (total,), (error,) = summed(values, np.zeros(values.shape), counts)
    exact = math.fsum(values[0].real * counts)  # each product is rounded once, in both
    assert abs(total.real - exact) <= error
    assert error < 64 * 2.0**-53 * float(np.sum(np.abs(values) * counts)) * 1.6


def test_a_delta_below_all_floats_has_a_lower_end_of_zero() -> None:
    for release in (
        q.Gaussian(sigma=1.0),
        q.DiscreteGaussian(sigma=1.0),
        q.PoissonSampled(release=q.DiscreteGaussian(sigma=1.0), rate=0.1),
        q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=0.1),
    ):
        for count in (1, 2):
            bounds = q.compose(release * count).delta_bounds(epsilon=60.0)
            assert bounds.lower == 0.0
            assert 0.0 < bounds.upper < 1e-250
