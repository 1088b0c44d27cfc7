"""Microsoft's prv-accountant: privacy random variables on a grid made for a given error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prv_accountant import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    ApproximateDPMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    PoissonSubsampledGaussianMechanism,
    PRVAccountant,
)

from benchmarks.mechanisms import BlackBox, Gaussian, Laplace, SampledGaussian
from benchmarks.peers import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.case import Group
    from benchmarks.mechanisms import Mechanism
    from benchmarks.peers import Peer

__all__ = ["COARSE", "FINE"]

_SHARE_OF_DELTA = 1e-3  # the error in delta that its documentation advises


class PrvAccountant:
    """Its upper and lower bounds, which it claims and does not always keep."""

    def __init__(self, *, error: float) -> None:
        self._error = error

    def epsilon(self, groups: Sequence[Group], *, delta: float) -> Answer:
        """Both ends of what it says about epsilon."""
        accountant = self._accountant(groups, delta * _SHARE_OF_DELTA)
        lower, _, upper = accountant.compute_epsilon(delta, [each.count for each in groups])
        return Answer(lower=float(lower), upper=float(upper))

    def delta(self, groups: Sequence[Group], *, epsilon: float) -> Answer:
        """Both ends of what it says about delta, whose size it has to be told beforehand."""
        accountant = self._accountant(groups, 1e-6 * _SHARE_OF_DELTA)
        lower, _, upper = accountant.compute_delta(epsilon, [each.count for each in groups])
        return Answer(lower=float(lower), upper=float(upper))

    def _accountant(self, groups: Sequence[Group], delta_error: float) -> Any:
        return PRVAccountant(
            prvs=[_variable(each.mechanism) for each in groups],
            max_self_compositions=[each.count for each in groups],
            eps_error=self._error,
            delta_error=delta_error,
        )


def _variable(mechanism: Mechanism) -> Any:
    match mechanism:
        case BlackBox(epsilon=epsilon, delta=delta):
            return ApproximateDPMechanism(epsilon=epsilon, delta=delta)
        case Gaussian(sigma=sigma):
            return GaussianMechanism(noise_multiplier=sigma)
        case Laplace(scale=scale):
            return LaplaceMechanism(mu=1 / scale)
        case SampledGaussian(sigma=sigma, rate=rate):
            return PoissonSubsampledGaussianMechanism(
                sampling_probability=rate, noise_multiplier=sigma
            )
    raise NotImplementedError


FINE: Peer = PrvAccountant(error=0.01)
COARSE: Peer = PrvAccountant(error=0.1)
