"""Google's dp-accounting: privacy loss distributions on a grid, composed by FFT.

Groups are joined one after another, as its own ``PLDAccountant`` does.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld

from benchmarks.mechanisms import (
    BlackBox,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    SampledGaussian,
    SampledLaplace,
)
from benchmarks.peers import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.case import Group
    from benchmarks.mechanisms import Mechanism
    from benchmarks.peers import Peer

__all__ = ["PEER", "Distribution", "DpAccounting"]

Distribution: TypeAlias = Any  # the library brings no types

_DEFAULT_GRID = 1e-4


class DpAccounting:
    """The pessimistic estimate."""

    def __init__(self, *, grid: float = _DEFAULT_GRID) -> None:
        self._grid = grid

    def epsilon(self, groups: Sequence[Group], *, delta: float) -> Answer:
        """The epsilon of the composed distribution."""
        composed = self.joined([self._power(group) for group in groups])
        return Answer(upper=float(composed.get_epsilon_for_delta(delta)))

    def delta(self, groups: Sequence[Group], *, epsilon: float) -> Answer:
        """The delta of the composed distribution."""
        composed = self.joined([self._power(group) for group in groups])
        return Answer(upper=float(composed.get_delta_for_epsilon(epsilon)))

    def joined(self, parts: Sequence[Distribution]) -> Distribution:
        """Compose different distributions, one after another."""
        return reduce(lambda sofar, part: sofar.compose(part), parts)

    def _power(self, group: Group) -> Distribution:
        """Compose equal distributions in one step."""
        mechanism, count = group.mechanism, group.count
        if isinstance(mechanism, Gaussian):  # what its own accountant does
            return self._one(Gaussian(sigma=mechanism.sigma / math.sqrt(count)))
        one = self._one(mechanism)
        return one.self_compose(count) if count > 1 else one

    def _one(self, mechanism: Mechanism) -> Distribution:  # noqa: PLR0911  # one for each kind
        grid = self._grid
        match mechanism:
            case BlackBox(epsilon=epsilon, delta=delta):
                return pld.from_privacy_parameters(
                    common.DifferentialPrivacyParameters(epsilon, delta),
                    value_discretization_interval=grid,
                )
            case Gaussian(sigma=sigma):
                return pld.from_gaussian_mechanism(sigma, value_discretization_interval=grid)
            case Laplace(scale=scale):
                return pld.from_laplace_mechanism(scale, value_discretization_interval=grid)
            case Geometric(scale=scale):
                return pld.from_discrete_laplace_mechanism(
                    1 / scale, value_discretization_interval=grid
                )
            case DiscreteGaussian(sigma=sigma):
                return pld.from_discrete_gaussian_mechanism(
                    sigma, value_discretization_interval=grid, use_connect_dots=True
                )
            case SampledGaussian(sigma=sigma, rate=rate):
                return pld.from_gaussian_mechanism(
                    sigma, value_discretization_interval=grid, sampling_prob=rate
                )
            case SampledLaplace(scale=scale, rate=rate):
                return pld.from_laplace_mechanism(
                    scale, value_discretization_interval=grid, sampling_prob=rate
                )
            case Exponential(epsilon=epsilon):  # of which it knows only that it is pure
                return self._one(BlackBox(epsilon=epsilon))


PEER: Peer = DpAccounting()
