"""Quaestor itself. A composition remembers its answers, so every call makes a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import quaestor as q
from benchmarks.peers import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.cases import Group
    from benchmarks.peers import Peer

__all__ = ["PEER"]


class Quaestor:
    """Optimal composition, certified at both ends."""

    def epsilon(self, groups: Sequence[Group], *, delta: float) -> Answer:
        """Both ends of the least epsilon."""
        bounds = _composed(groups).epsilon_bounds(delta=delta)
        return Answer(lower=bounds.lower, upper=bounds.upper)

    def delta(self, groups: Sequence[Group], *, epsilon: float) -> Answer:
        """Both ends of the least delta."""
        bounds = _composed(groups).delta_bounds(epsilon=epsilon)
        return Answer(lower=bounds.lower, upper=bounds.upper)


def _composed(groups: Sequence[Group]) -> q.Composition:
    releases = (q.ApproxDP(epsilon=each.epsilon, delta=each.delta) * each.count for each in groups)
    return q.compose(*releases)


PEER: Peer = Quaestor()
