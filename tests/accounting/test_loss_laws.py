"""Every law of a loss says its moments to the error that it states, and never decays less."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import mpmath as mp
import numpy as np
import pytest

from quaestor.accounting.loss.engine.loss_sum import Product
from quaestor.accounting.loss.laws.discrete_gaussian import DiscreteGaussianLoss
from quaestor.accounting.loss.laws.finite import FiniteLoss
from quaestor.accounting.loss.laws.laplace import LaplaceLoss
from quaestor.accounting.loss.laws.responses import Response
from quaestor.accounting.loss.laws.sampling.sampled_gaussian import SampledGaussianLoss
from quaestor.accounting.loss.laws.sampling.sampled_laplace import SampledLaplaceLoss
from quaestor.accounting.releases import ProbabilityVectors

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

THETAS = (-0.7, -0.2, 0.3, 2.0, 17.0)
TIMES = (0.0, 0.01, 0.4, 3.0, 11.0, 40.0)


@cache
def node(mu: float, rate: float, i: int) -> tuple[mp.mpf, mp.mpf]:
    """The density at the i-th place, and the logarithm of the ratio there."""
    x = mp.mpf(i) / 32 - 13
    ratio = 1 - mp.mpf(rate) + mp.mpf(rate) * mp.exp(mp.mpf(mu) * x - mp.mpf(mu) ** 2 / 2)
    return mp.npdf(x), mp.log(ratio)


def sampled_gaussian(law: SampledGaussianLoss, s: mp.mpc) -> mp.mpc:
    power = s + 1 if law.removing else -s
    centre = max(float(power.real), 0.0) * law.mu
    steps = int((centre + 26) * 32)  # the plain sum, sixteen times finer than it has to be
    nodes = (node(law.mu, law.rate, i) for i in range(steps + 1))
    return mp.fsum(density * mp.exp(power * log_ratio) for density, log_ratio in nodes) / 32


def sampled_laplace(law: SampledLaplaceLoss, s: mp.mpc) -> mp.mpc:
    e, rate = mp.mpf(law.epsilon), mp.mpf(law.rate)
    power = s + 1 if law.removing else -s

    def weight(loss: mp.mpf) -> mp.mpc:
        return (1 - rate + rate * mp.exp(loss)) ** power

    pieces = mp.linspace(-e, e, 3 + int(abs(s.imag) * e / 8))
    inside = mp.quad(lambda x: mp.exp(-(x + e) / 2) / 4 * weight(x), pieces)
    return weight(-e) / 2 + mp.exp(-e) / 2 * weight(e) + inside


def laplace(law: LaplaceLoss, s: mp.mpc) -> mp.mpc:
    e = mp.mpf(law.epsilon)
    inside = mp.quad(lambda x: mp.exp((x - e) / 2) / 4 * mp.exp(s * x), [-e, 0, e])
    return mp.exp(s * e) / 2 + mp.exp(-e - s * e) / 2 + inside


def response(law: Response, s: mp.mpc) -> mp.mpc:
    e = mp.mpf(law.epsilon)
    return (mp.exp(s * e) + mp.exp(-e - s * e)) / (1 + mp.exp(-e))


def finite(law: FiniteLoss, s: mp.mpc) -> mp.mpc:
    pairs = zip(law.losses.tolist(), law.masses.tolist(), strict=True)
    return mp.fsum(mp.mpf(mass) * mp.exp(s * mp.mpf(loss)) for loss, mass in pairs)


def discrete_gaussian(law: DiscreteGaussianLoss, s: mp.mpc) -> mp.mpc:
    variance, d = mp.mpf(law.sigma) ** 2, law.shift
    reach = int(law.sigma * (30 + abs(s.real) * d / law.sigma) + 30)
    weights = {x: mp.exp(-mp.mpf(x * x) / (2 * variance)) for x in range(-reach, reach + 1)}
    total = mp.fsum(weights.values())
    terms = (w * mp.exp(s * (2 * d * x + d * d) / (2 * variance)) for x, w in weights.items())
    return mp.fsum(terms) / total


def true_moment(law: Law, s: mp.mpc) -> mp.mpc:
    """The moment by its definition, at thirty digits."""
    oracles = {
        SampledGaussianLoss: sampled_gaussian,
        SampledLaplaceLoss: sampled_laplace,
        LaplaceLoss: laplace,
        Response: response,
        FiniteLoss: finite,
        DiscreteGaussianLoss: discrete_gaussian,
    }
    with mp.workdps(30):
        return mp.mpc(oracles[type(law)](law, s))  # type: ignore[operator]


ATOMS = ProbabilityVectors(p=(0.25, 0.5, 0.25), q=(0.5, 0.375, 0.125)).losses()[0]
LAWS: dict[str, Law] = {
    "sampled Gaussian": SampledGaussianLoss(mu=1.0, rate=0.01, removing=True),
    "sampled Gaussian, often": SampledGaussianLoss(mu=0.3, rate=0.6, removing=True),
    "sampled Gaussian, little noise": SampledGaussianLoss(mu=4.0, rate=0.1, removing=True),
    "sampled Gaussian, added": SampledGaussianLoss(mu=1.0, rate=0.01, removing=False),
    "sampled Gaussian, added often": SampledGaussianLoss(mu=1.7, rate=0.5, removing=False),
    "sampled Laplace": SampledLaplaceLoss(epsilon=0.5, rate=0.1, removing=True),
    "sampled Laplace, added": SampledLaplaceLoss(epsilon=2.0, rate=0.3, removing=False),
    "Laplace": LaplaceLoss(0.7),
    "response": Response(0.3),
    "atoms": ATOMS,
    "discrete Gaussian": DiscreteGaussianLoss(sigma=0.8, shift=2),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("theta", THETAS)
def test_moments_are_within_the_stated_error(name: str, theta: float) -> None:
    law = LAWS[name]
    line = np.array([complex(theta, t) for t in TIMES])
    values, errors = law.log_moment(line)
    certain = 0
    for s, value, error in zip(line, values, errors, strict=True):
        if error > 1.0:
            continue  # says that it does not know
        certain += 1
        ratio = true_moment(law, mp.mpc(s)) / mp.exp(mp.mpc(value))
        assert abs(ratio - 1) <= mp.expm1(error) + mp.mpf("1e-28")
    assert certain >= 3
    assert np.all(errors[:3] < 1e-12 * (10 + np.abs(values[:3])))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("theta", THETAS[1::2])
def test_nothing_decays_less_than_certified(name: str, theta: float) -> None:
    law = LAWS[name]
    low = np.array([0.02, 0.4, 2.9, 10.5, 39.0])
    falls = law.decay(theta, low, low * 1.06)
    at_theta = true_moment(law, mp.mpc(theta))
    for start, fall in zip(low, falls, strict=True):
        for t in (start, start * 1.05):
            there = true_moment(law, mp.mpc(theta, t))
            assert -mp.log(abs(there / at_theta)) >= fall - 1e-15
    assert np.all(falls >= 0.0)


@pytest.mark.parametrize(
    "laws",
    [
        [Response(0.01 + 0.19 * (i * 0.618 % 1)) for i in range(300)],
        [Response(0.5 + 1e-9 * i) for i in range(200)],
        [Response(1e-6 * 1.05**i) for i in range(250)],
        [LaplaceLoss(0.05 + 0.02 * i) for i in range(20)],
        [
            SampledGaussianLoss(mu=0.2 + 0.05 * i, rate=0.02 * (i + 1), removing=i % 2 == 0)
            for i in range(16)
        ],
    ],
    ids=["responses", "close responses", "wide responses", "Laplace", "sampled Gaussian"],
)
@pytest.mark.parametrize("theta", [-0.6, 0.5, 6.0])
def test_many_together_are_the_sum_of_each(laws: list[Law], theta: float) -> None:
    line = np.array([complex(theta, t) for t in (0.0, 0.05, 0.7, 4.0)])
    counts = [1 + i % 3 for i in range(len(laws))]
    values, errors = Product(zip(laws, counts, strict=True)).log_moment(line)
    for s, value, error in zip(line, values, errors, strict=True):
        with mp.workdps(30):
            total = mp.fsum(
                count * mp.log(true_moment(law, mp.mpc(s)))
                for law, count in zip(laws, counts, strict=True)
            )
            off = mp.mpc(value) - total
            turns = mp.nint(off.imag / (2 * mp.pi))  # logarithms agree up to whole turns
            assert abs(off - 2j * mp.pi * turns) <= error
        assert error < 1e-8
