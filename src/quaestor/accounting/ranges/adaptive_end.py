r"""The end of the curve, where only the highest loss of all counts: a closed form.

Let d be the distance from epsilon up to the sum of all k ranges. If it is at most the smallest,

.. math:: \delta = (1 - e^{-d/(k+1)})^{k+1} / \prod_i (1 - e^{-\varepsilon_i}).

Proof: the losses of an outcome with a low one sum up to at most epsilon, so that only the outcome
whose losses are all high, the t_i, counts. What the analyst would do after other outcomes does not
matter, nor does the order. It remains to maximise
:math:`\prod_i q_i \cdot (1 - e^{\varepsilon - \sum t_i})`, where with
:math:`s_i = \varepsilon_i - t_i` we have :math:`q_i = (1 - e^{-s_i}) / (1 - e^{-\varepsilon_i})`.
The numerator is a product of :math:`1 - e^{-s}` over k+1 numbers s of sum d, and the logarithm of
each factor is concave: all s are equal. For one release this is its whole curve, as epsilon is not
negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.numerics.balls import ONE, rational

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

__all__ = ["ending_delta", "ending_distance"]


def ending_delta(ranges: Sequence[tuple[float, int]], distance: Fraction) -> arb:
    """Enclose delta at a distance from the sum of all ranges that is at most the smallest."""
    factors = sum(count for _, count in ranges) + 1
    return (-(-rational(distance) / factors).expm1()) ** factors / _scale(ranges)


def ending_distance(ranges: Sequence[tuple[float, int]], delta: float) -> arb:
    """Enclose the distance at which ``ending_delta`` is ``delta``, were it valid everywhere."""
    factors = sum(count for _, count in ranges) + 1
    each = (arb(delta) * _scale(ranges)).root(factors)
    return -factors * (-each).log1p()


def _scale(ranges: Sequence[tuple[float, int]]) -> arb:
    scale = ONE
    for range_, count in ranges:
        scale *= (-(-arb(range_)).expm1()) ** count
    return scale
