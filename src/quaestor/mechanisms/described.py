"""From a description to the mechanism that draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter
from quaestor.mechanisms.kinds.gaussian import DiscreteGaussian, Gaussian
from quaestor.mechanisms.kinds.geometric import Geometric
from quaestor.mechanisms.kinds.laplace import Laplace
from quaestor.mechanisms.kinds.randomized_response import RandomizedResponse
from quaestor.mechanisms.kinds.staircase import Staircase

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = ["DRAWN", "Drawn", "mechanism_for"]

Drawn = Geometric | Laplace | DiscreteGaussian | Gaussian | Staircase | RandomizedResponse

# A mechanism draws what is described under its own name: a new one adds one line here.
DRAWN: dict[str, type[Drawn]] = {
    "Geometric": Geometric,
    "Laplace": Laplace,
    "DiscreteGaussian": DiscreteGaussian,
    "Gaussian": Gaussian,
    "Staircase": Staircase,
    "RandomizedResponse": RandomizedResponse,
}


def mechanism_for(release: Release) -> Drawn:
    """The mechanism of that name with these parameters, on its default grid.

    >>> from quaestor.accounting.expressions import parse_release
    >>> mechanism_for(parse_release("Geometric(scale=20)"))
    Geometric(scale=20.0, sensitivity=1)
    """
    parameters = release.to_dict()
    kind = DRAWN.get(parameters.pop("type"))
    if kind is None:
        raise InvalidParameter("release", str(release), f"one of {', '.join(sorted(DRAWN))}")
    return kind(**parameters)
