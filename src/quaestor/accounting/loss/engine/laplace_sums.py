r"""Few Laplace losses, and few losses of few values beside them: the curve in closed form.

Under a weight :math:`e^{-l/2}`, the loss of Laplace noise with shift e in units of its scale is the
same on both sides: atoms of one size at e and -e, and between them a density of half of it. With
:math:`x` for a shift by e, and J for the integral from the right, it is, up to a factor,
:math:`x(1+J/2) + x^{-1}(1-J/2)`. So N of them, :math:`n_i` of shift :math:`e_i`, have the sum

.. math:: \sum_m \prod_i \binom{n_i}{m_i}\; x^{p_m}\, (1+J/2)^{N-M} (1-J/2)^{M}, \qquad
          p_m = \sum_i (n_i - 2 m_i) e_i, \quad M = \sum_i m_i .

Delta is the integral of :math:`2\sinh((s-\varepsilon)/2)` over that. With z for the inverse of J it
is :math:`1/(z^2 - 1/4)`, so that a knot :math:`p_m` above epsilon adds the function of
:math:`u = p_m - \varepsilon` whose Laplace transform is
:math:`(z+\tfrac12)^{N-M-1} (z-\tfrac12)^{M-1} / z^N`: a polynomial for :math:`0 < M < N`. The
largest knot (M = 0) also has the pole 1/2, which adds 1 to delta, and the least one lies below
every epsilon that is asked. In all, with S the largest loss,

.. math:: \delta(\varepsilon) = 1 + 2^{-N} e^{(\varepsilon - S)/2}
          \sum_{p_m > \varepsilon} \prod_i \binom{n_i}{m_i}\, H_M(p_m - \varepsilon) .

Terms cancel, and balls say how much, so that bits are added until enough are left. Other losses are
listed, and delta is a sum of positive terms over their values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product as choices
from typing import TYPE_CHECKING, Final

from flint import arb, arb_poly, fmpq, fmpq_poly

from quaestor.accounting.loss.engine.enumeration import listed_atoms
from quaestor.accounting.loss.laws.laplace import LaplaceLosses
from quaestor.accounting.numerics.balls import ONE, ZERO, between, outward, refined
from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.loss.engine.loss_sum import Product
    from quaestor.accounting.numerics.atoms import Atoms

__all__ = ["LaplaceSum", "few_laplace"]

_MOST_WORK: Final = 2048
"""Multiplications for one epsilon; more take longer than a line."""
_UNIT: Final = 2.0**-53
_LOST: Final = 1e-322
"""What a product of masses, and its share of a sum, can lose where floats have no more digits."""
_BLUR: Final = 1e-15
"""How far a shift can be off, that floats divided by a scale."""
_LEAST, _LARGEST = 1e-290, 1e290
"""Beyond these, floats that divide have fewer digits, or none."""
_HALF: Final = fmpq(1, 2)


def few_laplace(product: Product) -> Callable[[float], Bounds] | None:
    """The curve of a product of few Laplace losses and few values; None if they are others."""
    laplace = [law for law, _ in product.terms if type(law) is LaplaceLosses]
    if len(laplace) != 1 or product.moments_only:
        return None
    noise, times = laplace[0], next(n for law, n in product.terms if law is laplace[0])
    shifts = [
        (float(shift), int(count) * times)
        for shift, count in zip(noise.epsilons, noise.counts, strict=True)
    ]
    work = math.prod(count + 1 for _, count in shifts) * sum(count for _, count in shifts)
    if work > _MOST_WORK or not all(_LEAST < shift < _LARGEST for shift, _ in shifts):
        return None
    others = [term for term in product.terms if term[0] is not noise]
    atoms = listed_atoms(others, most=_MOST_WORK // work)
    if atoms is None:
        return None
    less, more = (
        LaplaceSum(tuple((shift * side, count) for shift, count in shifts))
        for side in (1 - _BLUR, 1 + _BLUR)
    )

    def curve(epsilon: float) -> Bounds:
        if not others:
            return Bounds(lower=less.delta(epsilon).lower, upper=more.delta(epsilon).upper)
        return _mixed(less, more, atoms, epsilon)

    return curve


def _mixed(less: LaplaceSum, more: LaplaceSum, atoms: Atoms, epsilon: float) -> Bounds:
    """The sum over listed losses: each term falls with epsilon, and rises with its loss."""
    reach = abs(epsilon) + max(map(abs, map(float, atoms.losses)))
    shift = atoms.blur + 4 * _UNIT * reach
    lower = upper = 0.0
    for loss, mass in zip(map(float, atoms.losses), map(float, atoms.masses), strict=True):
        lower += mass * less.delta((epsilon - loss) + shift).lower
        upper += mass * more.delta((epsilon - loss) - shift).upper
    slack = 1.001 * atoms.error + 4 * _UNIT * (len(atoms.losses) + 4)
    lost = _LOST * len(atoms.losses)
    return Bounds(
        lower=min(max(lower * (1 - slack) - lost, 0.0), 1.0),
        upper=min(upper * (1 + slack) + lost, 1.0),
    )


@dataclass(frozen=True, slots=True)
class LaplaceSum:
    """The sum of independent Laplace losses: shifts in units of the scale, each with its count."""

    shifts: tuple[tuple[float, int], ...]

    def delta(self, epsilon: float) -> Bounds:
        """Enclose the curve at an epsilon of either sign."""
        return outward(refined(lambda _: self._delta(arb(epsilon)))).clipped(0.0, 1.0)

    def _delta(self, epsilon: arb) -> arb:
        largest = sum((arb(shift) * count for shift, count in self.shifts), ZERO)
        if epsilon >= largest:
            return ZERO
        if epsilon <= -largest:
            return -epsilon.expm1()
        total, number = ZERO, sum(count for _, count in self.shifts)
        for taken in choices(*(range(count + 1) for _, count in self.shifts)):
            knot, ways = ZERO, 1
            for (shift, count), lies in zip(self.shifts, taken, strict=True):
                knot += arb(shift) * (count - 2 * lies)
                ways *= math.comb(count, lies)
            above = knot - epsilon
            if not above < 0 and sum(taken) < number:
                total += ways * arb_poly(_piece(number, sum(taken)))(above)
        weight: arb = ((epsilon - largest) / 2).exp() / 2**number
        value: arb = ONE + total * weight
        # the least knot is left out, which counts only beyond: there delta is another
        return value if epsilon > -largest else between(value, -epsilon.expm1())


@lru_cache(maxsize=1024)
def _piece(number: int, lies: int) -> fmpq_poly:
    """The polynomial that a knot adds; of the largest knot without the pole 1/2."""
    rising, falling = fmpq_poly([_HALF, 1]), fmpq_poly([-_HALF, 1])
    if lies:
        transform = list(rising ** (number - lies - 1) * falling ** (lies - 1))
    else:
        inverse = fmpq_poly([fmpq(-(2 ** (at + 1))) for at in range(number)])
        transform = list(rising ** (number - 1) * inverse)[:number]
    piece = [fmpq(0)] * number
    for power, factor in enumerate(transform):
        left = number - 1 - power
        piece[left] = factor / math.factorial(left)
    return fmpq_poly(piece)
