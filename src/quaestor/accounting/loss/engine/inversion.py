r"""Inverting the Laplace transform of a sum of losses, with every error accounted for.

For :math:`\theta > 0`,

.. math:: (1-e^{-x})_+ = \frac{1}{2\pi i}\int_{\theta-i\infty}^{\theta+i\infty}
          \frac{e^{sx}}{s(s+1)}\,ds, \qquad\text{hence}\qquad
          \delta(\varepsilon) = \frac{1}{2\pi}\int_{-\infty}^{\infty}
          \frac{e^{K(s)-s\varepsilon}}{s(s+1)}\,dt, \quad s = \theta+it,

where K is the log-moment of the total loss. On the line through the saddle point the integrand is a
bell, and the trapezoidal rule with step tau is astonishingly good. What it leaves, and how each
part is bounded:

*Aliasing.* By Poisson summation the infinite rule gives :math:`\sum_m e^{\theta m\Lambda}
\delta(\varepsilon + m\Lambda)` with :math:`\Lambda = 2\pi/\tau`, all terms positive: it can only
be too large. Terms m < 0 are at most :math:`e^{-\theta|m|\Lambda}`; terms m > 0 fall geometrically
by Chernoff's bound at a second, larger theta.

*Truncation.* Beyond the last node, :math:`|e^{K(s)}|` is bounded block by block by what the laws
say about their decay, and by the smoothing.

*Smoothing.* A sum of atoms does not decay. One more Gaussian release of tiny variance v makes it
decay, and can only raise delta. By how much: :math:`\partial_v\delta_v(\varepsilon) = \tfrac12
p_v(\varepsilon)`, with p the density of the smoothed loss (the kink of :math:`(1-e^{-x})_+` is all
that diffusion with drift 1/2 sees), and :math:`p_u \le \sqrt{v/u}\,e^{v/8}\,p_v` for u < v
(compare the two Gaussian kernels); hence by at most :math:`v e^{v/8} p_v(\varepsilon)`, and p is
one more sum over the same nodes.

*Rounding.* Each node carries the error that its laws state.

On a lattice the integral runs over one period with a geometric series as kernel, and there is
nothing to smooth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from quaestor.accounting.loss.engine.integral import planned
from quaestor.accounting.loss.engine.kernel import Kernel
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.certified_arithmetic import certified_arithmetic
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from quaestor.accounting.loss.engine.integral import LinePlan, Tail
    from quaestor.accounting.loss.engine.loss_sum import Product
    from quaestor.accounting.loss.engine.set_aside import SetAside
    from quaestor.accounting.loss.laws.law import Lattice
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["Line"]

_UNDERFLOW = 1e-290  # more than all that underflow can take from a sum
_LARGEST_DOUBT = 1e15
_LARGEST_TURN = 1e-3


@dataclass(frozen=True)
class Line:
    """Nodes on one vertical line, with the log-moment at each: answers for a range of epsilons."""

    theta: float
    step: float
    nodes: Complexes
    values: Complexes  # K(s) minus K(theta), smoothing included
    errors: Floats
    peak: float  # K(theta), smoothing included
    smoothing: float
    tail: Tail
    second: tuple[float, float]  # another theta, and K there
    lattice: Lattice | None
    limited: bool = False  # whether it is smoothed by more than asked for, to save work
    blur: float = 0.0  # how far losses can be off in all, beyond rounding
    doubt: float = 0.0  # by how many nats masses can be off in all, beyond rounding
    aside: SetAside | None = None  # what was left out, and is added to delta
    slope: float = 0.0  # about how fast delta falls in epsilon where the line was drawn

    @classmethod
    def through(
        cls, product: Product, epsilon: float, *, width: float, most_work: float = math.inf
    ) -> Self:
        """The line that suits ``epsilon``, smoothed for a relative ``width`` of delta.

        It is smoothed more where it would be more than ``most_work``, or than anyone waits for.

        Raises :class:`~quaestor.errors.BeyondFloats` where the numbers are.
        """
        with certified_arithmetic():
            plan = planned(product, epsilon, width=width, most_work=most_work)
        return cls.along(product, plan)

    @classmethod
    def along(cls, product: Product, plan: LinePlan) -> Self:
        """The line of a plan for these losses. Raises as :meth:`through` does."""
        with certified_arithmetic():
            line = cls._along(product, plan)
        if not line.is_finite:
            raise BeyondFloats("the moments are beyond floats")
        return line

    @classmethod
    def _along(cls, product: Product, plan: LinePlan) -> Self:
        integral, point, extent, limited = plan
        smoothing, second = integral.smoothing, point.second
        nodes = integral.nodes(extent)
        values, errors = product.nominal_log_moment(nodes)
        values = values + smoothing / 2 * (nodes * (nodes + 1))
        top = float(values[0].real)
        beyond, doubt = product.nominal_log_moment(np.array([complex(second)]))
        smoothed = smoothing / 2 * second * (second + 1)
        return cls(
            theta=integral.theta,
            step=integral.step,
            nodes=nodes,
            values=values - top,
            errors=errors + errors[0] + 4 * UNIT * (np.abs(values) + abs(top)),
            peak=top,
            smoothing=smoothing,
            tail=extent.tail,
            second=(second, _sum_above(beyond.real[0], doubt[0], smoothed, 1e-9)),
            lattice=integral.lattice,
            limited=limited,
            blur=product.blur(),
            doubt=product.doubt(),
            aside=product.aside,
            slope=point.slope,
        )

    @property
    def is_finite(self) -> bool:
        """Whether the moments exist here, and floats can hold them."""
        known = math.isfinite(self.peak) and math.isfinite(self.errors[0])
        return known and bool(np.all(np.isfinite(self.values)))

    def delta(self, epsilon: float) -> Bounds:
        """Enclose delta at ``epsilon``; wide, but true, where the line does not suit it."""
        try:
            with certified_arithmetic():
                lower, upper = self._ends(epsilon - self.blur)
                if self.blur:  # every term of delta falls in epsilon as it rises in its loss
                    lower, _ = self._ends(epsilon + self.blur)
        except BeyondFloats:
            return Bounds(lower=0.0, upper=1.0)
        if self.doubt:
            lower, upper = lower * math.exp(-self.doubt), upper * math.exp(min(self.doubt, 700.0))
        if self.aside is not None:
            lower, upper = self.aside.added_to(lower, upper, epsilon, above=self.theta > 0)
        if math.isnan(lower) or math.isnan(upper):
            return Bounds(lower=0.0, upper=1.0)
        return Bounds(lower=min(max(lower, 0.0), 1.0), upper=min(max(upper, lower, 0.0), 1.0))

    def _ends(self, epsilon: float) -> tuple[float, float]:
        total, doubt, smoothed = self._sums(epsilon)
        log_scale = self.peak - self.theta * epsilon
        log_doubt = UNIT * 8 * (abs(self.peak) + abs(self.theta * epsilon)) + float(self.errors[0])
        if not (log_scale < 700.0 and log_doubt < 700.0 and doubt < _LARGEST_DOUBT):
            return 0.0, 1.0  # a line so unsuitable that it says nothing
        scale = math.exp(log_scale)  # what underflow takes away is added below
        wide = math.exp(log_doubt) * (1 + 1e-15)
        less = doubt + self._aliases(epsilon, log_scale)
        if self.theta > 0:
            upper = max(total + doubt, 0.0) * scale * wide + _UNDERFLOW
            lower = max(total - less - smoothed, 0.0) * scale / wide - _UNDERFLOW
        else:
            lower = 1.0 - (total + doubt + smoothed) * scale * wide - 4 * UNIT
            upper = 1.0 - max(total - less, 0.0) * scale / wide + 4 * UNIT
        return lower, upper

    def _sums(self, epsilon: float) -> tuple[float, float, float]:
        """The sum over the nodes, what it can be off by, and what smoothing added at most.

        All relative to the scale.
        """
        fixed = self._kernel
        if fixed.furthest * abs(epsilon) * 4 * UNIT > _LARGEST_TURN:
            raise BeyondFloats("the angles are not known")
        bells = np.exp(self.values - 1j * (self.nodes.imag * epsilon))
        kernel, factors, blur = fixed.at(epsilon)
        # np.sum adds in pairs: some forty units of the sizes, where a product may take any order
        total = float(np.sum((bells * kernel).real))
        slope = 4.01 * UNIT * abs(epsilon)
        doubt = self.tail.delta + sum(
            factor * (1.0011 * row.base + (slope + blur) * row.steep)
            for factor, row in zip(factors, fixed.rows, strict=True)
        )
        if self.smoothing == 0.0:
            return total, doubt, 0.0
        density = float(np.sum(fixed.weights * bells.real)) + self.tail.density
        density = max(density + 1.0011 * fixed.density.base + slope * fixed.density.steep, 0.0)
        grown = self.smoothing * math.exp(min(self.smoothing / 8, 700.0))
        return total, doubt, grown * density * 1.000001

    @cached_property
    def _kernel(self) -> Kernel:
        return Kernel.of(self)

    def with_more(self, product: Product) -> Line:
        """The same nodes after more releases: their log-moments are added, nothing is recomposed.

        What was beyond the last node shrinks by what the new losses add; a lattice is given up
        unless they share it, and then there is no line to reuse. The new losses may have no moments
        here; then the line is not finite, or the numbers are beyond floats.

        Each addition rounds the history anew: the values by a unit of themselves, the peak by a
        unit of itself, which every node carries from then on.
        """
        with certified_arithmetic():
            values, errors = product.nominal_log_moment(self.nodes)
            top = float(values[0].real)
            beyond, doubt = product.nominal_log_moment(np.array([complex(self.second[0])]))
            history = np.abs(self.values) + abs(self.peak)
            rounding = 4 * UNIT * (history + np.abs(values) + abs(top))
            return replace(
                self,
                values=self.values + values - top,
                errors=(self.errors + errors + errors[0] + rounding) * (1 + 4 * UNIT),
                peak=self.peak + top,
                second=(self.second[0], _sum_above(self.second[1], beyond.real[0], doubt[0])),
                blur=self.blur + product.blur(),
                doubt=self.doubt + product.doubt(),
                aside=self.aside and self.aside.with_others(),
            )

    def _aliases(self, epsilon: float, log_scale: float) -> float:
        """The terms of the infinite sum that are not the one wanted, relative to the scale.

        Above the mean: delta is at most 1, and at most Chernoff's bound at the second theta. Below
        it: 1 - delta is at most 1, and at most e^epsilon.
        """
        reach = 2 * math.pi / self.step
        if self.theta < 0:
            first = -self.theta * reach, -log_scale
            other = (1 + self.theta) * reach, epsilon - log_scale
        else:
            further, at_further = self.second
            first = self.theta * reach, -log_scale
            other = (further - self.theta) * reach, at_further - further * epsilon - log_scale
        doubt = 8 * UNIT * (abs(log_scale) + abs(other[1]) + other[0] + first[0])
        doubt += self.doubt  # the masses as they are written may sum to a little more than 1
        total = 0.0
        for fall, start in (first, other):
            if not (fall > 0.0 and start - fall + doubt < 700.0):
                return math.inf  # nothing is known of them: the lower end is 0
            total += math.exp(start - fall + doubt) / -math.expm1(-fall)
        return total


def _sum_above(*terms: float) -> float:
    """At least the sum of the terms."""
    return float(sum(terms)) + 4 * len(terms) * UNIT * sum(map(abs, terms)) + 1e-300
