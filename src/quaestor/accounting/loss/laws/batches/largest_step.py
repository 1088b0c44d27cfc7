"""The loss of seeing only the largest of several noisy steps, in cells: less than seeing all."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from quaestor.accounting.loss.laws.batches.gathered import GatheredLoss
from quaestor.accounting.numerics.balls import working_precision
from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["largest_step_losses"]

_CELLS = 240
_FURTHEST = 9.0
_SPARE_BITS = 160  # beside those in which the last tail begins
_LEAST_LOG = -300.0
_ROUNDING = 1e-11


@lru_cache(maxsize=256)
def largest_step_losses(
    steps: int, first_shift: float, second_shift: float
) -> tuple[GatheredLoss, GatheredLoss]:
    """A random step is shifted, by more in the first world; and the worlds turned round."""
    top = first_shift + _FURTHEST
    places = np.linspace(second_shift - _FURTHEST, top, _CELLS)
    with working_precision(_SPARE_BITS + int(top * top) + steps.bit_length()):
        tails = [
            [_below(steps, shift, place) for place in places]
            for shift in (first_shift, second_shift)
        ]
        worlds = [
            [float((b - a).log().mid()) for a, b in pairwise([arb(0), *below, arb(1)])]
            for below in tails
        ]
    first, second = (np.array(world) for world in worlds)
    kept = np.minimum(first, second) > _LEAST_LOG
    lost = [Bounds(lower=0.0, upper=_total(each[~kept])) for each in (first, second)]
    law = GatheredLoss(
        (first - second)[kept],
        first[kept],
        second[kept],
        infinite=lost[0],
        opposite=lost[1],
        blur=_ROUNDING,
        error=_ROUNDING,
    )
    return law, law.turned()


def _total(logs: Floats) -> float:
    """At least the sum of these masses."""
    return float(np.sum(np.exp(np.maximum(logs, -700.0)))) * (1 + _ROUNDING)


def _below(steps: int, shift: float, place: float) -> arb:
    root = arb(2).sqrt()

    def below(z: arb) -> arb:
        return (-z / root).erfc() / 2

    return below(arb(place)) ** (steps - 1) * below(arb(place) - arb(shift))
