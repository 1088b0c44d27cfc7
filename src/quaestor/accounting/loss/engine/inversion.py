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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.loss.engine.loss_sum import least_point
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.certified_arithmetic import certified_arithmetic, rough_arithmetic
from quaestor.accounting.numerics.complexes import UNIT, expm1
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from quaestor.accounting.loss.engine.loss_sum import Product
    from quaestor.accounting.loss.laws.law import Lattice
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["Line"]

_NEGLIGIBLE = 42.0  # nats below the integrand's peak at which truncation may happen
_LARGEST_BLOCK = 1.02  # ratio of the ends of a block of the tail
_MANY_BLOCKS = 6000  # where wide ones say too little
_LITTLE_WORK = 1e6  # evaluations of e^(sL) for which a closer look does not pay
_UNDERFLOW = 1e-290  # more than all that underflow can take from a sum
_LARGEST_DOUBT = 1e15
_VANISHED = 1e4  # nats by which aliases are to fall at most
_LARGEST_TURN = 1e-3
_MOST_NODES = 1_200_000
_MOST_WORK = 1.2e7  # evaluations of e^(sL), about half a second
_TOO_MUCH_WORK = 4 * _MOST_WORK  # where the moment bound has to do


class _Tail(NamedTuple):
    """Bounds on what lies beyond the last node, for the two kernels."""

    delta: float
    density: float


class _Row(NamedTuple):
    """Sums of sizes over the nodes: times the nodes' own errors, and times what moves angles."""

    base: float
    steep: float


class _Fixed(NamedTuple):
    """What a line knows before it is asked: see ``Line._fixed``."""

    weights: Floats
    kernel: Complexes  # on a lattice without what depends on epsilon; times the weights
    turned: Complexes | None
    rows: tuple[_Row, ...]
    density: _Row
    furthest: float


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
    tail: _Tail
    second: tuple[float, float]  # another theta, and K there
    lattice: Lattice | None
    limited: bool = False  # whether it is smoothed by more than asked for, to save work
    blur: float = 0.0  # how far losses can be off in all, beyond rounding
    doubt: float = 0.0  # by how many nats masses can be off in all, beyond rounding

    @classmethod
    def through(cls, product: Product, epsilon: float, *, width: float) -> Line:
        """The line that suits ``epsilon``, smoothed for a relative ``width`` of delta.

        Raises :class:`~quaestor.errors.BeyondFloats` where the numbers are.
        """
        with certified_arithmetic():
            line = cls._through(product, epsilon, width=width)
        if not line.is_finite:
            raise BeyondFloats("the moments are beyond floats")
        return line

    @classmethod
    def _through(cls, product: Product, epsilon: float, *, width: float) -> Line:
        with rough_arithmetic():  # only choices: any line is sound
            if product.typical_loss() > epsilon:
                theta, spread, reach, second = _below_the_mean(product, epsilon)
            else:
                theta, spread, reach, second = _above_the_mean(product, epsilon)
        lattice = product.lattice()
        smoothing = 0.0
        if lattice is not None:
            reach = 2 * max(math.ceil(reach / lattice.gap / 2), 1) * lattice.gap  # an even number
        elif product.gaussian_variance() < (least := width / abs(theta * (theta + 1)) / 2):
            smoothing = least
        if not (1e-280 < reach < 1e280 and math.isfinite(spread)):
            raise BeyondFloats("the losses are beyond floats")
        step = 2 * math.pi / reach
        most_work = _MOST_WORK * min(max(1e-4 / width, 1.0), 16.0)  # who asks for more waits longer
        total = 0.4 / (abs(theta * (theta + 1)) * max(spread, 1 / abs(theta)))  # roughly
        wanted = smoothing
        for _ in range(40):
            room = total * (width * 1e-2 if smoothing else 1e-13)
            count, tail = _extent(product, theta, step, smoothing, lattice, room)
            if not smoothing or product.work(count, step) <= most_work:
                break
            smoothing *= 2
        if not product.work(count, step) <= max(_TOO_MUCH_WORK, most_work):
            raise BeyondFloats("the losses are too far apart for a line")
        nodes = np.asarray(theta + 1j * step * np.arange(count), np.complex128)
        values, errors = product.nominal_log_moment(nodes)
        values = values + smoothing / 2 * (nodes * (nodes + 1))
        top = float(values[0].real)
        beyond, doubt = product.nominal_log_moment(np.array([complex(second)]))
        smoothed = smoothing / 2 * second * (second + 1)
        return cls(
            theta=theta,
            step=step,
            nodes=nodes,
            values=values - top,
            errors=errors + errors[0] + 4 * UNIT * (np.abs(values) + abs(top)),
            peak=top,
            smoothing=smoothing,
            tail=tail,
            second=(second, _sum_above(beyond.real[0], doubt[0], smoothed, 1e-9)),
            lattice=lattice,
            limited=smoothing > wanted,
            blur=product.blur(),
            doubt=product.doubt(),
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
        if math.isnan(lower) or math.isnan(upper):
            return Bounds(lower=0.0, upper=1.0)
        return Bounds(lower=min(max(lower, 0.0), 1.0), upper=min(max(upper, lower, 0.0), 1.0))

    def _ends(self, epsilon: float) -> tuple[float, float]:
        fixed = self._fixed
        if fixed.furthest * abs(epsilon) * 4 * UNIT > _LARGEST_TURN:
            return 0.0, 1.0  # the angles are not known
        bells = np.exp(self.values - 1j * (self.nodes.imag * epsilon))
        kernel, factors, blur = self._kernel(epsilon)
        # np.sum adds in pairs: some forty units of the sizes, where a product may take any order
        total = float(np.sum((bells * kernel).real))
        slope = 4.01 * UNIT * abs(epsilon)
        doubt = self.tail.delta + sum(
            factor * (1.0011 * row.base + (slope + blur) * row.steep)
            for factor, row in zip(factors, fixed.rows, strict=True)
        )
        log_scale = self.peak - self.theta * epsilon
        log_doubt = UNIT * 8 * (abs(self.peak) + abs(self.theta * epsilon)) + float(self.errors[0])
        smoothed = 0.0
        if self.smoothing > 0.0:
            density = float(np.sum(fixed.weights * bells.real)) + self.tail.density
            density = max(density + 1.0011 * fixed.density.base + slope * fixed.density.steep, 0.0)
            smoothed = (
                self.smoothing * math.exp(min(self.smoothing / 8, 700.0)) * density * 1.000001
            )
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

    @cached_property
    def _fixed(self) -> _Fixed:
        r"""What does not depend on epsilon, for a line is asked about many.

        A node's error E grows by :math:`x = 4u|s|\varepsilon` for the angle:
        :math:`e^{E+x}-1 = (e^E-1)e^x + (e^x-1)`, at most 1.001 times each for x up to 1/1000. Where
        E says nothing, :math:`|M(s)|` is still at most the moment on the real axis, times what the
        smoothing takes away.
        """
        s, sizes = self.nodes, np.exp(self.values.real)
        errors = self.errors + 8 * UNIT
        most = min(float(self.errors[0]), 600.0) - self.smoothing / 2 * s.imag**2
        far = sizes + np.exp(np.minimum(self.values.real + errors, most))
        wobble = np.where(errors < 30.0, sizes * np.expm1(np.minimum(errors, 30.0)), far)
        weights = np.full(s.size, self.step / math.pi)
        weights[0] /= 2
        if self.lattice is not None and self._covers_the_period():
            weights[-1] /= 2
        sign = -1.0 if self.theta < 0 else 1.0  # past the pole at 0: what is found is delta - 1
        reach = np.abs(s)

        def row(height: Floats, units: Floats | float) -> _Row:
            heights = weights * height
            base = heights * (wobble + UNIT * (64 * sizes + units * (sizes + wobble)))
            steep = heights * reach * (sizes + wobble)
            return _Row(float(np.sum(base)) * 1.0001, float(np.sum(steep)) * 1.0001)

        density = row(np.ones(s.size), 0.0)
        furthest = float(np.max(reach))
        if self.lattice is None:
            kernel = 1 / (s * (s + 1))
            only = (row(np.abs(kernel), 16.0),)
            return _Fixed(weights, sign * weights * kernel, None, only, density, furthest)
        gap = self.lattice.gap
        turned = np.exp(-s * gap)
        above, below = -expm1(-s * gap), -expm1(-(s + 1) * gap)
        kernel = gap / (above * below)
        height, units = np.abs(kernel), 64 + 32 * (reach + 1) * gap
        moved = weights * gap / np.abs(below) * (sizes + wobble)
        rows = (
            row(height, units),
            row(height * np.abs(turned), units),
            _Row(0.0, float(np.sum(moved)) * 1.0001),
        )
        return _Fixed(weights, sign * weights * kernel, turned, rows, density, furthest)

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
            )

    def _covers_the_period(self) -> bool:
        assert self.lattice is not None  # noqa: S101
        half = math.pi / self.lattice.gap
        return bool(abs(float(self.nodes[-1].imag) - half) < self.step / 4)

    def _kernel(self, epsilon: float) -> tuple[Complexes, tuple[float, ...], float]:
        r"""What multiplies :math:`e^{K-s\varepsilon}`, the rows' factors, and how far a is off.

        On a lattice of gap g, with a the way from epsilon to the first atom beyond it, it is

        .. math:: g\sum_{k\ge0} e^{-s(a+kg)}(1-e^{-a-kg}) = g e^{-sa}\,
            \frac{(1-e^{-a}) + e^{-sg}(e^{-a}-e^{-g})}{(1-e^{-sg})(1-e^{-(s+1)g})},

        the difference of two geometric series over their common denominator. Neither of the two
        real differences cancels; where their sum does, the rounding of both is charged. a itself
        is the difference of larger numbers, off by some units of these, and so is every loss:
        the derivative of the kernel in a is :math:`-s` times it, plus
        :math:`g e^{-sa-a}/(1-e^{-(s+1)g})`. Where a is so close to g that epsilon may lie just
        below the atom before, that is to be taken at a = 0: the kernel is continuous there, and its
        derivative is not.
        """
        fixed = self._fixed
        if self.lattice is None or fixed.turned is None:
            return fixed.kernel, (1.0,), 0.0
        offset, gap = self.lattice
        first = math.floor((epsilon - offset) / gap) + 1
        ahead = min(max(offset + gap * first - epsilon, 0.0), gap)
        blur = 16 * UNIT * (abs(offset) + abs(epsilon) + gap * abs(first) + gap)
        blur *= math.exp(min((abs(self.theta) + 1) * blur, 600.0))
        start, more = -math.expm1(-ahead), -math.exp(-ahead) * math.expm1(ahead - gap)
        kernel = fixed.kernel * np.exp(-self.nodes * ahead) * (start + fixed.turned * more)
        fall = math.exp(-self.theta * ahead)
        steepest = fall * math.exp(-ahead)
        if ahead + blur >= gap:
            steepest = max(steepest, math.exp(min((abs(self.theta) + 1) * blur, 600.0)))
        return kernel, (fall * start, fall * more, steepest), blur

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


def _above_the_mean(product: Product, epsilon: float) -> tuple[float, float, float, float]:
    """A line between 0 and infinity: theta, the spread there, the reach, and a second theta.

    Only choices: any theta > 0 is sound. The saddle point makes e^(K - s epsilon)/(s(s+1)) least.
    """

    def height(thetas: Floats) -> Floats:
        rough = product.rough_log_moments(thetas)
        return rough - thetas * epsilon - np.log(thetas * (thetas + 1))

    theta = least_point(height, ratio=1.05)
    spread = _spread(product, theta, 0.05 * theta)
    peak = product.rough_log_moment(theta)
    reach = max((_NEGLIGIBLE + max(theta * epsilon - peak, 0.0)) / theta, 13.0 * spread)
    second = theta * 1.5
    for _ in range(8):  # heavy tails want a longer reach before aliases fade
        second, moment = _second(product, theta, spread, reach)
        left = moment - second * epsilon - (peak - theta * epsilon)
        if left < (second - theta) * reach - _NEGLIGIBLE:
            break
        reach *= 1.5
    return theta, spread, reach, second


def _below_the_mean(product: Product, epsilon: float) -> tuple[float, float, float, float]:
    """A line between -1 and 0, where 1 - delta is small and found by itself."""

    def height(ratios: Floats) -> Floats:
        thetas = -1 / (1 + ratios)
        moments = product.rough_log_moments(thetas)
        return moments - thetas * epsilon - np.log(-thetas * (1 + thetas))

    theta = -1 / (1 + least_point(height, ratio=1.05))
    theta = min(max(theta, -0.999999), -1e-6)
    spread = _spread(product, theta, 0.05 * min(-theta, 1 + theta))
    scale = product.rough_log_moment(theta) - theta * epsilon
    reach = max(
        (_NEGLIGIBLE + max(-scale, 0.0)) / -theta,
        (_NEGLIGIBLE + max(epsilon - scale, 0.0)) / (1 + theta),
        13.0 * spread,
    )
    return theta, spread, reach, theta


def _spread(product: Product, theta: float, gap: float) -> float:
    below, at, above = product.rough_log_moments(np.array([theta - gap, theta, theta + gap]))
    while math.isinf(below + above) and gap > 1e-4 * abs(theta):  # moments may end just beyond
        gap /= 4
        below, above = product.rough_log_moments(np.array([theta - gap, theta + gap]))
    curvature = float(below + above - 2 * at) / gap**2
    return math.sqrt(curvature) if math.isfinite(curvature) and curvature > 1e-300 else 1e-150


def _second(product: Product, theta: float, spread: float, reach: float) -> tuple[float, float]:
    """The larger theta whose Chernoff bound makes the aliases beyond ``reach`` smallest.

    Where the tilted loss hardly spreads, no further than what makes them vanish: the moment of a
    far larger theta is not known to the nats that count.
    """
    steps = np.array([10.0, 6.0, 3.5, 2.0, 1.2, 0.7, 0.4, 0.2, 0.1, 0.05])
    further = theta + np.minimum(steps / spread, _VANISHED / reach)
    moments = product.rough_log_moments(further)
    best = int(np.argmin(moments - (further - theta) * reach))
    return float(further[best]), float(moments[best])


def _extent(  # noqa: PLR0913  # what decides how far the nodes reach
    product: Product,
    theta: float,
    step: float,
    smoothing: float,
    lattice: Lattice | None,
    room: float,
) -> tuple[int, _Tail]:
    """How many nodes are needed, and a bound on what lies beyond them.

    Walks outward in blocks, each with what the laws certify about it, and cuts where everything
    beyond fits into ``room``.
    """
    floor = _NEGLIGIBLE + 40.0
    if lattice is not None:
        last = math.pi / lattice.gap
    else:  # only Gaussians keep what they take away: others may come back later
        last = math.sqrt(2 * floor / (smoothing + product.gaussian_variance()))
    for longest in (math.inf, last / _MANY_BLOCKS):
        low, high = _blocks(step, last, longest)
        if low.size == 0:
            return 2, _Tail(0.0, 0.0)
        beyond = math.exp(-floor) * (step + last) * (1 + 1 / last**2) if lattice is None else 0.0
        count, tail = _cut(product, theta, step, smoothing, lattice, room, low, high, beyond)
        if lattice is not None or product.work(count, step) < _LITTLE_WORK:
            break
        if not all(law.decays_quickly for law, _ in product.terms):
            break
    if lattice is not None:
        count = min(count, round(last / step) + 1)  # the last one at half the period
    return count, tail


def _blocks(step: float, last: float, longest: float) -> tuple[Floats, Floats]:
    """Blocks from the first node to the last, each longer than the one before by 2 %."""
    ends = [step]
    while ends[-1] < last:
        length = min(ends[-1] * _LARGEST_BLOCK + step - ends[-1], longest)
        ends.append(min(ends[-1] + length, max(last, 2 * step)))
    return np.array(ends[:-1]), np.array(ends[1:])


def _cut(  # noqa: PLR0913  # what decides how far the nodes reach
    product: Product,
    theta: float,
    step: float,
    smoothing: float,
    lattice: Lattice | None,
    room: float,
    low: Floats,
    high: Floats,
    beyond: float,
) -> tuple[int, _Tail]:
    """Cut where everything beyond fits into ``room``; ``beyond`` is what no block covers."""
    nats = product.decay(theta, low, high) + smoothing * low**2 / 2
    density = np.exp(-nats) * (high - low + step) / math.pi
    kernel = low**-2.0
    if lattice is not None:  # a geometric series falls like 1/t only, within its period
        kernel = math.pi * math.exp(min((abs(theta) + 1) * lattice.gap / 2, 600.0)) / low
    delta = density * kernel
    left_delta = np.append(np.cumsum(delta[::-1])[::-1], 0.0) + beyond
    left_density = np.append(np.cumsum(density[::-1])[::-1], 0.0) + beyond
    fits = left_delta + smoothing * left_density <= max(room, 2 * beyond * (1 + smoothing))
    cut = int(np.argmax(fits)) if bool(np.any(fits)) else low.size
    cut = min(cut, int(np.searchsorted(high, step * _MOST_NODES)))
    reach = float(high[cut - 1]) if cut else step
    count = math.ceil(reach / step) + 1
    return count, _Tail(float(left_delta[cut]), float(left_density[cut]))
