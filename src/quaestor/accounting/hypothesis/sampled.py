r"""Independent memberships are sampling: exact for any releases, any number of databases.

Somebody who is in each database with probability q is, to each mechanism, a person in a Poisson
sample of rate q. So U, the outcomes under that prior, against :math:`P_0`, those of nobody, is the
composition of sampled releases. Given at least one membership the law is :math:`P_1 =
(U - cP_0)/(1-c)` with :math:`c = (1-q)^k`, and for every :math:`\alpha`

.. math::
    H_\alpha(P_1\|P_0) = \tfrac{1}{1-c} H_{\alpha(1-c)+c}(U\|P_0), \qquad
    H_\alpha(P_0\|P_1) = \bigl(1+\tfrac{\alpha c}{1-c}\bigr)
        H_{\alpha/(1-c+\alpha c)}(P_0\|U),

since :math:`(P_1-\alpha P_0)_+ = (U-(\alpha(1-c)+c)P_0)_+/(1-c)`, and likewise.

[Hartmann, Bindschaedler, West show the connection for rate 1/2 and bound it by their Theorem 3;
this is exact, in both directions, for any rate.]
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.curves.epsilon_search import least_epsilon
from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.loss.engine.loss_profile import LossProfile
from quaestor.accounting.numerics.balls import ball_of, outward, working_precision
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases import PoissonSampled
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.membership.release_order import Kind

__all__ = ["by_sampling"]


def by_sampling(
    kinds: Sequence[Kind], *, rate: float, at_least_one: bool
) -> tuple[Profile, Profile] | None:
    """The prior against nobody, and nobody against the prior; None where sampling is not known.

    One release for each database: two of them share the membership, and sampling would not.
    """
    counts: dict[Kind, int] = {}
    for kind in kinds:
        if len(kind) != 1 or kind[0][1] != 1:
            return None
        counts[kind] = counts.get(kind, 0) + 1
    try:
        laws = [PoissonSampled(release=kind[0][0], rate=rate).losses() for kind in counts]
    except InvalidParameter:
        return None
    removing = LossProfile([(law[0], n) for law, n in zip(laws, counts.values(), strict=True)])
    adding = LossProfile([(law[-1], n) for law, n in zip(laws, counts.values(), strict=True)])
    if not at_least_one or rate == 1.0:
        return removing, adding
    with working_precision(256):
        nobody = (len(kinds) * (-arb(rate)).log1p()).exp()
    return _SomeOverNobody(removing, nobody), _NobodyOverSome(adding, nobody)


class _Moved(Profile):
    def __init__(self, curve: LossProfile, nobody: arb) -> None:
        """Keep the sampled curve and the probability of no membership at all."""
        self.curve, self.nobody = curve, nobody

    def _at(self, point: arb) -> arb:
        """The sampled curve at an epsilon that is itself only enclosed."""
        near = outward(point).clipped(0.0, math.inf)
        return ball_of(
            Bounds(
                lower=self.curve.delta_bounds(epsilon=near.upper).lower,
                upper=self.curve.delta_bounds(epsilon=near.lower).upper,
            )
        )

    def supports(self, at_most: int) -> Sequence[float]:
        """Those of the sampled curve."""
        return self.curve.supports(at_most)


class _SomeOverNobody(_Moved):
    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose H(P1 over P0)."""
        with working_precision(256):
            kept = 1 - self.nobody
            if math.isinf(epsilon):
                told = ball_of(self.curve.delta_bounds(epsilon=epsilon))
                return outward(told / kept).clipped(0.0, 1.0)
            point = arb(epsilon) + (kept + self.nobody * (-arb(epsilon)).exp()).log()
            return outward(self._at(point) / kept).clipped(0.0, 1.0)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon by solving for the sampled curve's."""
        with working_precision(256):
            kept = 1 - self.nobody
            target = outward(arb(delta) * kept).clipped(0.0, 1.0)
            sampled = Bounds(
                lower=self.curve.epsilon_bounds(delta=target.upper).lower,
                upper=self.curve.epsilon_bounds(delta=target.lower).upper,
            )
            if math.isinf(sampled.upper):
                upper = math.inf
            else:
                upper = outward((arb(sampled.upper).expm1() / kept).log1p()).upper
            if math.isinf(sampled.lower):
                return Bounds.exactly(math.inf)
            lower = outward((arb(sampled.lower).expm1() / kept).log1p()).lower
            return Bounds(lower=max(lower, 0.0), upper=max(upper, 0.0))


class _NobodyOverSome(_Moved):
    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose H(P0 over P1)."""
        if math.isinf(epsilon):
            return Bounds(lower=0.0, upper=self.delta_bounds(epsilon=1e4).upper)
        with working_precision(256):
            kept, odds = 1 - self.nobody, arb(epsilon).exp()
            factor = 1 + odds * self.nobody / kept
            point = arb(epsilon) - (kept + odds * self.nobody).log()
            return outward(factor * self._at(point)).clipped(0.0, 1.0)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon by searching."""
        if delta >= 1.0:
            return Bounds.exactly(0.0)
        largest = self._largest()
        if delta == 0.0:
            return Bounds(lower=0.0, upper=largest)
        return least_epsilon(
            lambda epsilon: self.delta_bounds(epsilon=epsilon),
            target=Bounds.exactly(delta),
            guess=min(self.curve.epsilon_bounds(delta=delta).upper, 700.0),
            largest=largest,
        )

    def _largest(self) -> float:
        """Where the curve has certainly come down to nothing: from the largest sampled loss."""
        reach = self.curve.product.largest()
        with working_precision(256):
            if not math.isfinite(reach):
                return math.inf
            odds = arb(reach).exp()
            left = 1 - odds * self.nobody
            if not left > 0:
                return math.inf
            return outward((odds * (1 - self.nobody) / left).log()).clipped(0.0, math.inf).upper
