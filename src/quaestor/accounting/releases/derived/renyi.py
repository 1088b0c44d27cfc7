"""A release that is known by its Renyi divergences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.numerics.balls import at_least
from quaestor.accounting.releases.base import Release, remembered
from quaestor.accounting.releases.derived.gaussian_mixture import numbers
from quaestor.accounting.releases.loss_ends import NO_BOUND, NO_LOSS, LossEnd
from quaestor.accounting.releases.opinion import MARGIN, Opinion
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Curve

__all__ = ["RenyiDP"]

_LEAST_ORDER, _LARGEST_ORDER = 1 + 1e-9, 1e9
_LARGEST = 1e150


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiDP(Release):
    r"""Any release whose Renyi divergence of order ``orders[i]`` is at most ``epsilons[i]``.

    Guarantee:
        :math:`D_\alpha(P\|Q) \le \varepsilon_\alpha` in both directions at these orders [Mironov
        2017]. Between them :math:`(\alpha-1)D_\alpha` is convex, so chords are bounds too. Delta
        is the moment bound at the best order [Canonne, Kamath, Steinke, arXiv 2004.00010v4,
        Proposition 12], which is all that is known from above; from below nothing is.

    >>> from quaestor.accounting.compose import compose
    >>> gaussian = RenyiDP(orders=(2, 4, 8, 16, 32), epsilons=(0.04, 0.08, 0.16, 0.32, 0.64))
    >>> 0.942 < compose(gaussian).epsilon(delta=1e-6) < 0.943
    True
    """

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]

    known_by_moments: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        orders = numbers("orders", self.orders, low=_LEAST_ORDER, high=_LARGEST_ORDER)
        epsilons = numbers("epsilons", self.epsilons, low=0.0, high=_LARGEST)
        if len(orders) != len(epsilons):
            raise InvalidParameter("epsilons", len(epsilons), f"as long as orders: {len(orders)}")
        if len(set(orders)) < len(orders):
            raise InvalidParameter("orders", orders, "all different")
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "epsilons", epsilons)

    def losses(self) -> tuple[Law, ...]:
        """Moments at some orders, and no more than these."""
        from quaestor.accounting.loss.laws.renyi import RenyiLoss
        from quaestor.accounting.loss.laws.sampling.sampled import no_loss

        if min(self.epsilons) == 0.0:  # a divergence of 0 says that the worlds are the same
            return (no_loss(),)
        return (RenyiLoss(self.orders, self.epsilons),)

    def with_record_replaced(self) -> Release:
        r"""By Hoelder's inequality: :math:`D_\alpha(P\|Q) \le \frac{b}{b-1}D_a(P\|R)+D_b(R\|Q)`.

        For all a, b > 1 with :math:`\alpha = ab/(a+b-1)`: of :math:`\int P^\alpha Q^{1-\alpha}`
        take :math:`(P/R)^\alpha R^{1/p}` to the power of :math:`p = a/\alpha`, and the rest to that
        of the conjugate [Mironov 2017, Proposition 11].
        """
        from quaestor.accounting.loss.laws.renyi import lower_hull

        known = [
            (Fraction(a), Fraction(d)) for a, d in zip(self.orders, self.epsilons, strict=True)
        ]
        heights: dict[float, float] = {}
        for (a, first), (b, second) in product(known, repeat=2):
            order = _at_most(a * b / (a + b - 1))  # a smaller one has no more
            epsilon = at_least(b / (b - 1) * first + second)
            if order >= _LEAST_ORDER and epsilon is not None and epsilon <= _LARGEST:
                heights[order] = min(heights.get(order, _LARGEST), float(epsilon))
        points = sorted((order - 1.0, (order - 1.0) * heights[order]) for order in heights)
        kept = {place for place, _ in lower_hull(points)}
        orders = tuple(order for order in sorted(heights) if order - 1.0 in kept)
        if not orders:
            return super().with_record_replaced()
        return RenyiDP(orders=orders, epsilons=tuple(heights[order] for order in orders))

    # From the parameters alone.

    def loss_ends(self) -> tuple[LossEnd, ...]:
        """There is none, unless nothing is released."""
        return (NO_BOUND if min(self.epsilons) > 0.0 else NO_LOSS,)

    @remembered
    def opinion(self) -> Opinion:
        """From above: the best of the given orders; from below nothing."""
        if min(self.epsilons) == 0.0:
            return Opinion(lambda _: (0.0, 0.0), None, 0.0, 0.0, 0.0)

        def curve(at: float) -> Curve:
            best = 0.0
            for order, epsilon in zip(self.orders, self.epsilons, strict=True):
                power = order - 1.0
                nats = power * (epsilon - at) * (1 - math.copysign(MARGIN, epsilon - at))
                nats += MARGIN * (1 + power * (epsilon + at)) if epsilon < at else 0.0
                nats += power * math.log1p(-1 / order) - math.log(order)
                best = min(best, nats + 1e-9)
            return 0.0, min(math.exp(max(best, -700.0)), 1.0)

        return Opinion(curve, None, math.inf)


def _at_most(exact: Fraction) -> float:
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, 0.0)
