"""A mechanism of one's own, given by two probability vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.accounting.releases.base import Release
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.law import Law

__all__ = ["ProbabilityVectors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilityVectors(Release):
    """The probabilities of every outcome in two neighbouring worlds.

    Guarantee:
        That of the pair itself, in both directions: it is up to you that it dominates what the
        mechanism does on any two neighbours.
    """

    p: tuple[float, ...]
    q: tuple[float, ...]

    directed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check that both are probabilities of the same outcomes."""
        for name in ("p", "q"):
            object.__setattr__(self, name, _probabilities(name, getattr(self, name)))
        if len(self.p) != len(self.q):
            raise InvalidParameter("q", len(self.q), f"as long as p, which has {len(self.p)}")

    def losses(self) -> tuple[Law, ...]:
        """The pair, and the pair turned round."""
        return _loss(self.p, self.q), _loss(self.q, self.p)


def _probabilities(name: str, value: Any) -> tuple[float, ...]:
    try:
        entries = tuple(float(entry) for entry in value)
    except (TypeError, ValueError):
        raise InvalidParameter(name, value, "a list of probabilities") from None
    if not entries or not all(0.0 <= entry <= 1.0 for entry in entries):
        raise InvalidParameter(name, value, "a list of probabilities")
    if abs(math.fsum(entries) - 1.0) > 1e-9:
        raise InvalidParameter(name, math.fsum(entries), "probabilities that sum to 1")
    return entries


def _loss(first: tuple[float, ...], second: tuple[float, ...]) -> Law:
    import numpy as np

    from quaestor.accounting.bounds import Bounds
    from quaestor.accounting.loss.finite import FiniteLoss

    p, q = np.array(first), np.array(second)
    both = (p > 0) & (q > 0)
    told = math.fsum(p[(p > 0) & (q == 0)])
    infinite = Bounds.exactly(0.0) if told == 0.0 else Bounds.exactly(told).widened(ulps=2)
    if not np.any(both):
        return FiniteLoss(np.zeros(1), np.ones(1), infinite=Bounds.exactly(1.0))
    near = np.abs(p[both] - q[both]) < q[both] / 2  # there the difference is exact
    apart = np.log(p[both]) - np.log(q[both])
    losses = np.where(near, np.log1p(np.where(near, (p[both] - q[both]) / q[both], 0.0)), apart)
    size = np.where(near, np.abs(losses), np.abs(np.log(p[both])) + np.abs(np.log(q[both])))
    return FiniteLoss(
        losses,
        p[both],
        infinite=infinite.clipped(0.0, 1.0),
        blur=2.0**-50 * float(np.max(size)),
        error=2 * abs(math.fsum(first) - 1.0) + 2.0**-50,
    )
