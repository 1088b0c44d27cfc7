"""How geometric noise on sums is described: tightly, and so that it is priced at once."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.accounting import releases

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release
    from quaestor.mechanisms.kinds.geometric import Geometric

__all__ = ["geometric_loss", "laplace_above"]

_WIDEST = 64  # the largest sensitivity with a description of its own: more are slow to compose
_LITTLE = 250  # scale times sensitivity from which the continuous law costs a thousandth at most


def geometric_loss(mechanism: Geometric) -> Release:
    """A description of geometric noise.

    Its own, which is exact, where that matters; else that of :func:`laplace_above`. Composing
    thirty geometric releases of sensitivity 64 takes seconds, of 1000 minutes; as many Laplace
    releases take less than a tenth of a second.
    """
    described = mechanism.loss
    few = described.sensitivity <= _WIDEST
    near = Fraction(described.scale) * described.sensitivity < _LITTLE
    if described.sensitivity == 1 or (few and near):
        return described
    return laplace_above(described)


def laplace_above(release: releases.Geometric) -> releases.Laplace:
    r"""A Laplace release that is at least as easy to see through as a geometric one.

    Theorem:
        Discrete Laplace noise of scale b and sensitivity :math:`\Delta` loses at most what Laplace
        noise of scale b loses with the sensitivity :math:`\Delta + 1/4b`, at every epsilon. Proof:
        with :math:`r = e^{-1/b}`, the best test sees whether the outcome is at least t, t from 0
        to :math:`\Delta`, and

        .. math:: \delta(\varepsilon) = \max_t 1 - \frac{r^{\Delta-t+1} + e^\varepsilon r^t}{1+r}
           \le 1 - \frac{2 r^{(\Delta+1)/2} e^{\varepsilon/2}}{1+r}
           = 1 - \frac{e^{(\varepsilon - \Delta/b)/2}}{\cosh(1/2b)}

        (of two positive numbers the sum is at least twice the root of the product) for
        :math:`\varepsilon \le \Delta/b`, and 0 beyond. The Laplace release with sensitivity S has
        :math:`1 - e^{(\varepsilon - S/b)/2}`, which is no less if :math:`S \ge \Delta + 2b \ln
        \cosh(1/2b)`; and :math:`\ln\cosh x \le x^2/2`. Both are symmetric, so that this is the
        whole curve, and what is worse alone is worse in any composition [Blackwell].

    >>> laplace_above(releases.Geometric(scale=1024.0, sensitivity=100))
    Laplace(scale=1024.0, sensitivity=100.000244140625)
    """
    exact = release.sensitivity + 1 / (4 * Fraction(release.scale))
    nearest = float(exact)
    sensitivity = nearest if nearest >= exact else math.nextafter(nearest, math.inf)
    return releases.Laplace(scale=release.scale, sensitivity=sensitivity)
