"""What is integrated, in which steps, and how far: a bound on everything beyond the last node."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.loss.engine.saddle_point import NEGLIGIBLE, SaddlePoint
from quaestor.accounting.numerics.transform_sizes import smooth_size
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from quaestor.accounting.loss.engine.loss_sum import Product
    from quaestor.accounting.loss.laws.law import Lattice
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["Extent", "Integral", "LinePlan", "Tail", "planned"]

_LARGEST_BLOCK = 1.02  # ratio of the ends of a block of the tail
_FEW_BLOCKS, _JOINED = 24, 8  # looked at one by one; of more, at first so many as one
_FEW_TERMS = 512  # of all blocks: so many at once cost little more than one
_UNSEEN = 1e-10  # of what may be left out: less than that is nothing
_MANY_BLOCKS = 6000  # where wide ones say too little
_LITTLE_WORK = 1e6  # evaluations of e^(sL) for which a closer look does not pay
_MOST_NODES = 1_200_000
_LARGEST_TRANSFORM = 1 << 18  # nodes of a line on a lattice
_MOST_WORK = 1.2e7  # evaluations of e^(sL), about half a second
_TOO_MUCH_WORK = 4 * _MOST_WORK  # where the moment bound has to do
_TOO_MUCH_EFFORT = 3e8  # terms of all rules together: the same, some ten seconds
_MANY_NODES = 2_000  # with fewer, no rules are that long


class Tail(NamedTuple):
    """Bounds on what lies beyond the last node, for the two kernels."""

    delta: float
    density: float


class Extent(NamedTuple):
    """How many nodes there are, and what lies beyond them."""

    size: int
    tail: Tail


class _Blocks(NamedTuple):
    """Stretches of the line with their ends, and a bound on what none of them covers."""

    low: Floats
    high: Floats
    beyond: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Integral:
    """The integral over one vertical line, as the trapezoidal rule sees it.

    Attributes:
        product: the sum of losses whose moment is integrated.
        theta: where the line crosses the real axis.
        step: the distance of nodes.
        smoothing: the variance of the Gaussian that is added, to make it decay.
        lattice: where all losses lie, if it runs over one period only.
    """

    product: Product
    theta: float
    step: float
    smoothing: float
    lattice: Lattice | None

    def smoothed_more(self) -> Integral:
        """The same with twice the smoothing, which needs fewer nodes."""
        return replace(self, smoothing=self.smoothing * 2)

    def work(self, extent: Extent) -> float:
        """About how many exponentials so many nodes cost."""
        return self.product.work(extent.size, self.step)

    def is_too_long(self, extent: Extent) -> bool:
        """Whether the rules by which moments at so many nodes are integrated have too many terms.

        They have the more, the larger the ratio of sensitivity to noise, which work leaves out.
        """
        if extent.size <= _MANY_NODES:
            return False
        return self.product.effort(self.theta, extent.size, self.step) > _TOO_MUCH_EFFORT

    def nodes(self, extent: Extent) -> Complexes:
        """The points at which the moment is needed."""
        return np.asarray(self.theta + 1j * self.step * np.arange(extent.size), np.complex128)

    def extent(self, room: float) -> Extent:
        """How many nodes are needed, and a bound on what lies beyond them.

        Walks outward in blocks, each with what the laws certify about it, and cuts where everything
        beyond fits into ``room``.
        """
        floor = NEGLIGIBLE + 40.0
        if self.lattice is not None:
            last = math.pi / self.lattice.gap
        else:  # only Gaussians keep what they take away: others may come back later
            last = math.sqrt(2 * floor / (self.smoothing + self.product.gaussian_variance()))
        for longest in (math.inf, last / _MANY_BLOCKS):
            low, high = _ends_of_blocks(self.step, last, longest)
            if low.size == 0:
                return Extent(2, Tail(0.0, 0.0))
            beyond = 0.0
            if self.lattice is None:
                beyond = math.exp(-floor) * (self.step + last) * (1 + 1 / last**2)
            extent = self._cut(_Blocks(low, high, beyond), room)
            if self.lattice is not None or self.work(extent) < _LITTLE_WORK:
                break
            if not all(law.decays_quickly for law, _ in self.product.terms):
                break
        if self.lattice is not None:  # the last one at half the period
            return extent._replace(size=min(extent.size, round(last / self.step) + 1))
        return extent

    def _cut(self, blocks: _Blocks, room: float) -> Extent:
        """Cut where everything beyond fits into ``room``."""
        low, high, beyond = blocks
        kernel = low**-2.0
        if self.lattice is not None:  # a geometric series falls like 1/t only, within its period
            grown = (abs(self.theta) + 1) * self.lattice.gap / 2
            kernel = math.pi * math.exp(min(grown, 600.0)) / low
        weights = (high - low + self.step) / math.pi
        most = max(room, 2 * beyond * (1 + self.smoothing))
        nats = self._nats(low, high, weights * (kernel + self.smoothing), most)
        density = np.exp(-nats) * weights
        delta = density * kernel
        left_delta = np.append(np.cumsum(delta[::-1])[::-1], 0.0) + beyond
        left_density = np.append(np.cumsum(density[::-1])[::-1], 0.0) + beyond
        fits = left_delta + self.smoothing * left_density <= most
        cut = int(np.argmax(fits)) if bool(np.any(fits)) else low.size
        cut = min(cut, int(np.searchsorted(high, self.step * _MOST_NODES)))
        reach = float(high[cut - 1]) if cut else self.step
        count = math.ceil(reach / self.step) + 1
        return Extent(count, Tail(float(left_delta[cut]), float(left_density[cut])))

    def _nats(self, low: Floats, high: Floats, weights: Floats, most: float) -> Floats:
        """Lower bounds on the fall in each block, as good as is needed to cut at ``most``.

        One for several neighbours where that already leaves nothing that is seen beside ``most``.
        The others one by one from the outside, until so much is left that the cut is further out.
        """
        if low.size <= _FEW_BLOCKS or low.size * self.product.work(1, self.step) <= _FEW_TERMS:
            return self._fall(low, high)
        starts = np.arange(0, low.size, _JOINED)
        sizes = np.diff(np.append(starts, low.size))
        nats = np.repeat(self._fall(low[starts], high[starts + sizes - 1]), sizes)
        left = np.add.reduceat(np.exp(-nats) * weights, starts)
        seen = np.flatnonzero(np.repeat(left > _UNSEEN * most / starts.size, sizes))
        some, total = _FEW_BLOCKS, 0.0
        while seen.size and total <= most:
            seen, outer = seen[:-some], seen[-some:]
            nats[outer] = self._fall(low[outer], high[outer])
            total += float(np.sum(np.exp(-nats[outer]) * weights[outer]))
            some *= 2
        return nats

    def _fall(self, low: Floats, high: Floats) -> Floats:
        return self.product.decay(self.theta, low, high) + self.smoothing * low**2 / 2


def _ends_of_blocks(step: float, last: float, longest: float) -> tuple[Floats, Floats]:
    """Blocks from the first node to the last, each longer than the one before by 2 %."""
    share = _LARGEST_BLOCK - 1  # each end is the one before, a share of it and a step more
    furthest = min(last, (longest - step) / share)
    count = math.ceil(math.log(max(furthest / step * share + 1, 1.0)) / math.log1p(share))
    rising = step / share * ((1 + share) ** np.arange(2.0, max(count, 1) + 1) - 1)
    ends = [step, *rising[rising < furthest].tolist()]
    while ends[-1] < last:
        length = min(ends[-1] * _LARGEST_BLOCK + step - ends[-1], longest)
        ends.append(min(ends[-1] + length, max(last, 2 * step)))
    return np.array(ends[:-1]), np.array(ends[1:])


class LinePlan(NamedTuple):
    """What is integrated, through which point, how far, and whether smoothed more than asked."""

    integral: Integral
    point: SaddlePoint
    extent: Extent
    limited: bool


def planned(
    product: Product,
    epsilon: float,
    *,
    width: float,
    point: SaddlePoint | None = None,
    most_work: float = math.inf,
) -> LinePlan:
    """Choose the line, unless its ``point`` is known, and step, smoothing and last node."""
    point = SaddlePoint.of(product, epsilon) if point is None else point
    theta, reach, lattice = point.theta, point.reach, product.lattice()
    smoothing = 0.0
    if lattice is not None:
        turns = max(math.ceil(reach / lattice.gap / 2), 1)
        if product.by_transform:
            turns = smooth_size(turns)
            if turns > _LARGEST_TRANSFORM:
                raise BeyondFloats("the lattice is too fine for a line")
        reach = 2 * turns * lattice.gap  # an even number
    elif product.gaussian_variance() < (least := width / abs(point.slope * (point.slope + 1)) / 2):
        smoothing = least
    if not (1e-280 < reach < 1e280 and math.isfinite(point.spread)):
        raise BeyondFloats("the losses are beyond floats")
    integral = Integral(
        product=product,
        theta=theta,
        step=2 * math.pi / reach,
        smoothing=smoothing,
        lattice=lattice,
    )
    patience = min(max(1e-4 / width, 1.0), 16.0)  # who asks for more waits longer
    most_work = min(_MOST_WORK * patience, most_work)
    for _ in range(40):
        room = point.total * (width * 1e-2 if integral.smoothing else 1e-13)
        if product.aside is not None:  # delta may be far less than the integrand's peak suggests
            room *= 1e-8
        extent = integral.extent(room)
        too_much = integral.work(extent) > most_work or integral.is_too_long(extent)
        if not (integral.smoothing and too_much):
            break
        integral = integral.smoothed_more()
    too_much = not integral.work(extent) <= max(_TOO_MUCH_WORK, most_work)
    if too_much or integral.is_too_long(extent):
        raise BeyondFloats("the losses are too far apart for a line")
    return LinePlan(integral, point, extent, integral.smoothing > smoothing)
