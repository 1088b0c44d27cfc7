r"""The loss of one black box whose input changes twice: group privacy of size two.

With :math:`c = (1-\delta)/(1+e^\varepsilon)` the corner of :math:`g(a) = \min(1, \delta +
e^\varepsilon a, 1 - e^{-\varepsilon}(1-\delta-a))`, the curve :math:`g \circ g` starts at
:math:`g(\delta)`, which is the mass of an infinite loss, and its slopes are products of two slopes
of g. Where :math:`\delta < c` it climbs with slope :math:`e^{2\varepsilon}` to :math:`1-c`, with
slope 1 to :math:`g(1-c) = 1 - e^{-\varepsilon}(c-\delta)`, and with :math:`e^{-2\varepsilon}` to 1.
Where :math:`c \le \delta < 1/2` it has slope 1 from :math:`g(\delta) = 1 -
e^{-\varepsilon}(1-2\delta)` on. From :math:`\delta = 1/2` on it is 1 throughout.
"""

from __future__ import annotations

import numpy as np
from flint import arb

from quaestor.accounting.loss.laws.finite import FiniteLoss
from quaestor.accounting.numerics.balls import ZERO, outward, working_precision
from quaestor.accounting.numerics.bounds import Bounds

__all__ = ["two_changes"]


def two_changes(*, epsilon: float, delta: float) -> FiniteLoss:
    """The law of g after g: losses of two epsilon, none and minus two epsilon, and infinity."""
    if delta >= 0.5:
        return _everything_is_told()
    with working_precision(256):
        less, told = (-arb(epsilon)).exp(), arb(delta)
        corner = (1 - told) * less / (1 + less)
        if corner > told:
            far = 1 - corner - told - told / less
            near, back = corner - less * (corner - told), less * (corner - told)
        else:  # where the two cannot be told apart, both cases say the same
            far, near, back = ZERO, less * (1 - 2 * told), ZERO
        infinite = outward(1 - far - near - back).clipped(0.0, 1.0)
        if delta == 0.0:
            infinite = Bounds.exactly(0.0)
        atoms = [
            (loss, float(mass.log().mid()))
            for loss, mass in ((2 * epsilon, far), (0.0, near), (-2 * epsilon, back))
            if mass > 0
        ]
    if not atoms:
        return _everything_is_told()
    losses, first = np.array(atoms).T
    return FiniteLoss(losses, first, first - losses, infinite=infinite, opposite=infinite)


def _everything_is_told() -> FiniteLoss:
    nothing, told = np.zeros(0), Bounds.exactly(1.0)
    return FiniteLoss(nothing, nothing, nothing, infinite=told, opposite=told)
