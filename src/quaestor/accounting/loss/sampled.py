r"""Losses under sampling: what is compared when a person is in the data only with some probability.

With (P, Q) the pair of the release itself and w = 1 - q + q dP/dQ:

* Poisson sampling, removing a person: w Q against Q, the loss log w; adding: Q against w Q, the
  loss -log w [Zhu, Dong, Wang 2022, Theorem 11];
* a fixed number without replacement, replacing a person: log w where that is positive, and its
  mirror image where it is negative [same, Proposition 30, for symmetric pairs; taken from there].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.bounds import Bounds
from quaestor.accounting.loss.discrete_gaussian import (
    DiscreteGaussianLoss,
    finite_discrete_gaussian,
)
from quaestor.accounting.loss.finite import FiniteLoss
from quaestor.accounting.loss.gaussian import GaussianLoss
from quaestor.accounting.loss.laplace import LaplaceLoss
from quaestor.accounting.loss.responses import Response
from quaestor.accounting.loss.sampled_gaussian import SampledGaussianLoss
from quaestor.accounting.loss.sampled_laplace import SampledLaplaceLoss
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.law import Law

__all__ = ["poisson_sampled", "sampled_without_replacement"]

_LARGEST_SIGMA = 5_000.0  # beyond this a discrete Gaussian has too many atoms to list


def poisson_sampled(law: Law, rate: float) -> tuple[Law, ...]:
    """Both directions: removing a person, and adding one."""
    if rate == 1.0:
        return (law,)
    if rate == 0.0:
        return (FiniteLoss(np.zeros(1), np.ones(1)),)
    if isinstance(law, GaussianLoss) and not law.known_by_moments_only:
        return tuple(
            SampledGaussianLoss(mu=law.mu, rate=rate, removing=removing)
            for removing in (True, False)
        )
    if isinstance(law, LaplaceLoss):
        return tuple(
            SampledLaplaceLoss(epsilon=law.epsilon, rate=rate, removing=removing)
            for removing in (True, False)
        )
    losses, apart = _atoms(law)
    logs = np.log1p(rate * np.expm1(losses[0]))
    without = losses[1] * np.exp(-losses[0])  # the masses when the person is not sampled
    left = np.append(logs, math.log1p(-rate)), np.append(without, apart)
    removing = FiniteLoss(
        left[0],
        left[1] * np.exp(left[0]),
        infinite=Bounds(lower=0.0, upper=0.0) if apart == 0.0 else _product(rate, apart),
    )
    return removing, FiniteLoss(-left[0], left[1])


def sampled_without_replacement(law: Law, rate: float) -> tuple[Law, ...]:
    """The replacement of one person; the same in both directions, for a symmetric pair."""
    if rate == 1.0:
        return (law,)
    (losses, masses), apart = _atoms(law)
    over, under = losses > 0, losses < 0
    ups = np.log1p(rate * np.expm1(losses[over]))
    downs = -np.log1p(rate * np.expm1(-losses[under]))
    up_masses = masses[over] * np.exp(-losses[over]) * np.exp(ups)
    down_masses = masses[under]
    infinite = Bounds.exactly(0.0) if apart == 0.0 else _product(rate, apart)
    finite = 1 - infinite.upper
    rest = max(finite - float(np.sum(up_masses)) - float(np.sum(down_masses)), 0.0)
    return (
        FiniteLoss(
            np.concatenate((ups, [0.0], downs)),
            np.concatenate((up_masses, [rest], down_masses)),
            infinite=infinite,
        ),
    )


def _product(rate: float, apart: float) -> Bounds:
    return Bounds.exactly(rate * apart).widened(ulps=1)


def _atoms(law: Law) -> tuple[tuple[np.ndarray, np.ndarray], float]:
    """Losses and masses under the first hypothesis, and the mass of an infinite loss."""
    if isinstance(law, Response):
        epsilon, failure = law.epsilon, law.infinite.upper
        truth = (1 - failure) / (1 + math.exp(-epsilon))
        masses = np.array([truth, truth * math.exp(-epsilon)])
        return (np.array([epsilon, -epsilon]), masses), failure
    if isinstance(law, DiscreteGaussianLoss):
        if law.sigma > _LARGEST_SIGMA:
            raise InvalidParameter("sigma", law.sigma, f"at most {_LARGEST_SIGMA:g} when sampled")
        law = finite_discrete_gaussian(sigma=law.sigma, shift=law.shift)
    if isinstance(law, FiniteLoss):
        finite = 1 - law.infinite.upper
        return (law.losses, law.masses * finite), law.infinite.upper
    kind = type(law).__name__.removesuffix("Loss")
    raise InvalidParameter("release", kind, "a release whose sampled version is known")
