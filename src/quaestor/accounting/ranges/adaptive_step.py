r"""One more bounded-range release: the greatest chord of a convex curve, bounded on a lattice.

Theorem:
    Dong, Durfee, Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms"
    (arXiv 1909.13830), Theorem 3. With :math:`f_0(a) = (1 - a)_+` and :math:`E = e^\varepsilon`,

    .. math:: f_{j+1}(a) = \max_{a/E \le x \le a} q f_j(x) + (1 - q) f_j(E x),
              \quad q x + (1 - q) E x = a,

    and :math:`\delta = f_k(e^{\varepsilon_g})` is the least that k adaptively chosen releases of
    range epsilon guarantee. In words: the greatest height at a of a chord of f whose ends have the
    ratio E. Each f is convex and decreasing.

Curves are kept at the nodes :math:`a = e^{nh}, n \ge 0`. The others follow from the symmetry
:math:`f(1/a) = 1 - 1/a + f(a)/a`, which holds for f_0 and is preserved: :math:`a \cdot f(1/a)`
maps chords to chords and keeps the ratio of their ends. The range is a whole number N of cells,
so that the weights q depend on the number of cells from x to a alone, and no node is rounded.

*Below*: only chords between nodes.

*Above*: let g be at least f at the nodes, and linear between them (in a); f is convex, hence below
g. While x runs through the cell from :math:`x_n` to :math:`x_{n+1}`, Ex runs through one cell too,
and the height of the chord of g at a is :math:`W - K x - J / x` for some W, K, J. This is at most

.. math:: \max(\text{the heights for } x_n \text{ and } x_{n+1}) + x_n (e^{h/2} - 1)^2 \max(K, 0).

Proof: unless both K and J are positive, the height is monotone or convex in x and greatest at an
end. Else it is greatest at :math:`x^* = \sqrt{J/K}`, where it exceeds the one at :math:`x` by
:math:`K x (1 - x^*/x)^2`. If :math:`x^* \le x_n e^{h/2}`, compare with :math:`x_n`; if not, with
:math:`x_{n+1} = x_n e^h`, where :math:`K x_n e^h (1 - x^* / x_{n+1})^2` is as small. With the
slopes put in, the second term, called the bulge, is

.. math:: \frac{\tanh(h/4)}{1 - e^{-\varepsilon}} \bigl(g_n - g_{n+1}
          - e^{-\varepsilon} (g_{n+N} - g_{n+N+1})\bigr)_+ .

*Rounding* (u = 2^-53). Weights come from balls, rounded outward. A height is a sum of products of
positive numbers with at most five roundings on top of each other, so the factors 1 + 8u above and
1 - 8u below cover them; reflected values carry such a factor of their own. The differences in a
bulge are made of the stored, decreasing values and have a relative error of u each; the factor
1 + 8u on the first covers them all, since the second is the smaller one where the bulge counts.
Underflow is covered by adding 1e-300 above and dropping what is less than 1e-290 below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from quaestor.accounting.numerics.balls import outward, rational, working_precision

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from flint import arb
    from numpy.typing import NDArray

__all__ = ["Beyond", "Curve", "StepAbove", "StepBelow", "one_release", "prolonged"]

Curve: TypeAlias = "NDArray[np.float64]"
"""Heights at the nodes; or several curves at once, one in each row."""

Beyond: TypeAlias = "float | Curve"
"""Of one curve, or of each one in a column."""

_UP, _DOWN = 1 + 2.0**-50, 1 - 2.0**-50
_COVERS_UNDERFLOW, _NEGLIGIBLE = 1e-300, 1e-290
_BITS = 96


def _floor(ball: arb) -> float:
    return max(outward(ball).lower, 0.0)


def _ceil(ball: arb) -> float:
    return outward(ball).upper


def one_release(distance: arb, range_: arb) -> arb:
    r"""The exact curve of one release, :math:`(1 - e^{-d/2})^2 / (1 - e^{-\varepsilon})`.

    ``distance`` d is that from the global epsilon up to the range, not above twice the range.
    """
    return (-distance / 2).expm1() ** 2 / -(-range_).expm1()


def prolonged(curve: Curve, length: int, beyond: Beyond) -> Curve:
    """The curve at so many nodes, or more if it has more."""
    missing = max(length - curve.shape[-1], 0)
    return np.concatenate([curve, np.broadcast_to(beyond, (*curve.shape[:-1], missing))], axis=-1)


class _Step:
    """The weights of all chords between nodes, for a range of ``size`` cells, rounded one way."""

    def __init__(self, cell: Fraction, size: int, rounded: Callable[[arb], float]) -> None:
        self.size = size
        with working_precision(_BITS):
            width = rational(cell)
            whole = width * size
            share = -(-whole).expm1()

            def every(weight: Callable[[arb, arb], arb]) -> Curve:
                """For x and y, which sum up to the range; where either is zero, it is exactly."""
                return np.array(
                    [rounded(weight(width * n, width * (size - n))) for n in range(size + 1)]
                )

            # Of a chord's left end, x to the left of a, and of its right end, y to the right:
            self._near = every(lambda _, y: -(-y).expm1() / share)
            self._far = every(lambda x, y: -(-x).expm1() * (-y).exp() / share)
            # For a = e^x, f(1/a) = constant + slope * f(a):
            self._constant = every(lambda x, _: -(-x).expm1())
            self._slope = every(lambda x, _: (-x).exp())
            self.first = every(lambda _, y: one_release(y, whole))
            """The curve of one release."""

    def _extended(self, curve: Curve, top: int, beyond: Beyond, factor: float) -> Curve:
        """The curve at the nodes from ``-size`` to at least ``top + size + 1``."""
        right = prolonged(curve, max(top, self.size) + self.size + 2, beyond)
        left = (self._constant + self._slope * right[..., : self.size + 1]) * factor
        return np.concatenate([left[..., :0:-1], right], axis=-1)


class StepBelow(_Step):
    """Lower bounds: chords between nodes only."""

    def __init__(self, cell: Fraction, size: int) -> None:
        super().__init__(cell, size, _floor)

    def heights(self, curve: Curve, top: int) -> Curve:
        """The greatest heights at the nodes 0 to ``top``; beyond its end the curve counts as 0."""
        nodes = self._extended(curve, top, 0.0, _DOWN)
        size, count = self.size, top + 1
        shape = (*curve.shape[:-1], count)
        best, height, other = np.zeros(shape), np.empty(shape), np.empty(shape)
        for cells, (near, far) in enumerate(zip(self._near, self._far, strict=True)):
            left = size - cells  # where the node that many cells to the left of 0 is stored
            np.multiply(nodes[..., left : left + count], near, out=height)
            np.multiply(nodes[..., left + size : left + size + count], far, out=other)
            height += other
            np.maximum(best, height, out=best)
        return best

    @staticmethod
    def finished(best: Curve) -> Curve:
        """Take off what rounding may have added."""
        best *= _DOWN
        best[best < _NEGLIGIBLE] = 0.0
        return best


class StepAbove(_Step):
    """Upper bounds: chords between nodes, and the bulge for those in between."""

    def __init__(self, cell: Fraction, size: int) -> None:
        super().__init__(cell, size, _ceil)
        with working_precision(_BITS):
            width = rational(cell)
            self._lift = _ceil((width / 4).tanh() / -(-width * size).expm1())
            self._shrink = _floor((-width * size).exp())

    def heights(self, curve: Curve, top: int, beyond: Beyond) -> Curve:
        """Bounds of the heights at the nodes 0 to ``top``, if ``beyond`` bounds the curve there."""
        size, count = self.size, top + 1
        nodes = self._extended(curve, top, beyond, _UP)
        np.minimum.accumulate(nodes, axis=-1, out=nodes)  # no less true, as the curve decreases
        drops = nodes[..., :-1] - nodes[..., 1:]
        bulges = drops[..., :-size] * _UP
        bulges -= self._shrink * drops[..., size:]
        np.maximum(bulges, 0.0, out=bulges)
        bulges *= self._lift  # bulges[i]: x in the cell right of the node that is stored at i
        # either[i]: of both cells at nodes[i + 1]
        either = np.maximum(bulges[..., 1:], bulges[..., :-1])
        shape = (*curve.shape[:-1], count)
        best, height, other = np.zeros(shape), np.empty(shape), np.empty(shape)
        for cells, (near, far) in enumerate(zip(self._near, self._far, strict=True)):
            left = size - cells  # where the node that many cells to the left of 0 is stored
            np.multiply(nodes[..., left : left + count], near, out=height)
            np.multiply(nodes[..., left + size : left + size + count], far, out=other)
            height += other
            if cells == 0:
                height += bulges[..., left - 1 : left - 1 + count]
            elif cells == size:
                height += bulges[..., left : left + count]
            else:
                height += either[..., left - 1 : left - 1 + count]
            np.maximum(best, height, out=best)
        return best

    @staticmethod
    def finished(best: Curve) -> Curve:
        """Add what rounding may have taken off."""
        best *= _UP
        best += _COVERS_UNDERFLOW
        return best
