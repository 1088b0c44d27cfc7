"""From a description to the mechanism that draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting import releases
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.kinds.gaussian import DiscreteGaussian, Gaussian
from quaestor.mechanisms.kinds.geometric import Geometric
from quaestor.mechanisms.kinds.laplace import Laplace
from quaestor.mechanisms.kinds.randomized_response import RandomizedResponse
from quaestor.mechanisms.kinds.staircase import Staircase

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = ["Drawn", "mechanism_for"]

Drawn = Geometric | Laplace | DiscreteGaussian | Gaussian | Staircase | RandomizedResponse

_DRAWN: dict[type[releases.Release], type[Drawn]] = {
    releases.Geometric: Geometric,
    releases.Laplace: Laplace,
    releases.DiscreteGaussian: DiscreteGaussian,
    releases.Gaussian: Gaussian,
    releases.Staircase: Staircase,
    releases.RandomizedResponse: RandomizedResponse,
}


def mechanism_for(release: Release) -> Drawn:
    """The mechanism of that name with these parameters, on its default grid.

    >>> from quaestor.accounting.expressions import parse_release
    >>> mechanism_for(parse_release("Geometric(scale=20)"))
    Geometric(scale=20.0, sensitivity=1)
    """
    kind = _DRAWN.get(type(release))
    if kind is None:
        names = ", ".join(sorted(drawn.__name__ for drawn in _DRAWN))
        raise InvalidParameter("release", str(release), f"one of {names}")
    parameters = release.to_dict()
    del parameters["type"]
    return kind(**parameters)
