r"""A Poisson sample of anything: what is known of the whole, by its profile in each direction.

With P and Q the release on a sample of the others, with the person and without, and
:math:`\alpha = e^\varepsilon\ge1`:

.. math::
    H_\alpha((1-q)Q+qP\|Q) &= q\,H_{1+(\alpha-1)/q}(P\|Q),\\
    H_\alpha(Q\|(1-q)Q+qP) &= (1-\alpha(1-q))_+\,H_{\alpha q/(1-\alpha(1-q))}(Q\|P),

by the definition of the two sides. The sample of the others is the same in both worlds, and H is
jointly convex; so the two profiles of the whole bound those of the sample, whatever it is.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from quaestor.accounting.releases.runs.base_run import directions, places, worst

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.base import Release
    from quaestor.accounting.releases.release_sum import ReleaseSum

__all__ = ["sampled_run"]

_UP = 1 + 1e-13
_LARGE = 600.0


@lru_cache(maxsize=256)
def sampled_run(run: Release | ReleaseSum, rate: float) -> tuple[Law, Law]:
    """More than is lost by removing a person, and by adding one, from points of the profiles."""
    from quaestor.accounting.loss.laws.detection_curve import detection_loss

    profiles = [profile.shared() for profile in directions(run)]
    inner = places(profiles)
    removing, adding = [profiles[0]], [profiles[-1]]
    leasts = [worst(way, 0.0, 0.0) * 1e-16 for way in (removing, adding)]
    forward, backward = [], []
    for at in inner:
        forward.append((_removed(at, rate), min(rate * worst(removing, at, leasts[0]) * _UP, 1.0)))
        share = rate / (rate + (1 - rate) * math.exp(at)) if at < _LARGE else 0.0
        share = share if share > 0.0 else 5e-324
        backward.append((_added(at, rate), min(share * worst(adding, at, leasts[1]) * _UP, 1.0)))
    backward.append((-math.log1p(-rate) * _UP, 0.0))
    law = detection_loss(*zip(*forward, strict=True), backward=tuple(zip(*backward, strict=True)))  # type: ignore[arg-type]
    return law, law.turned()


def _removed(at: float, rate: float) -> float:
    """``log(1 + rate (e^at - 1))``, rounded up."""
    if at < _LARGE:
        return math.log1p(rate * math.expm1(at)) * _UP
    return (at + math.log(rate + (1 - rate) * math.exp(-at))) * _UP


def _added(at: float, rate: float) -> float:
    """``-log(1 - rate (1 - e^-at))``, rounded up."""
    return -math.log1p(rate * math.expm1(-at)) * _UP
