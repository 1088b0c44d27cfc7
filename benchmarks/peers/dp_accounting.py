"""Google's dp-accounting: privacy loss distributions on a grid, composed by FFT.

Groups are joined one after another, as its own ``PLDAccountant`` does.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from dp_accounting.pld import common, privacy_loss_distribution

from benchmarks.peers import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.cases import Group
    from benchmarks.peers import Peer

__all__ = ["PEER", "Distribution", "DpAccounting"]

Distribution: TypeAlias = Any  # the library brings no types

_DEFAULT_GRID = 1e-4


class DpAccounting:
    """The pessimistic estimate."""

    def __init__(self, *, grid: float = _DEFAULT_GRID) -> None:
        self._grid = grid

    def epsilon(self, groups: Sequence[Group], *, delta: float) -> Answer:
        """The epsilon of the composed distribution."""
        composed = self.joined([self._power(group) for group in groups])
        return Answer(upper=float(composed.get_epsilon_for_delta(delta)))

    def delta(self, groups: Sequence[Group], *, epsilon: float) -> Answer:
        """The delta of the composed distribution."""
        composed = self.joined([self._power(group) for group in groups])
        return Answer(upper=float(composed.get_delta_for_epsilon(epsilon)))

    def joined(self, parts: Sequence[Distribution]) -> Distribution:
        """Compose different distributions, one after another."""
        return reduce(lambda sofar, part: sofar.compose(part), parts)

    def _power(self, group: Group) -> Distribution:
        """Compose equal distributions in one step."""
        one = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(group.epsilon, group.delta),
            value_discretization_interval=self._grid,
        )
        return one.self_compose(group.count) if group.count > 1 else one


PEER: Peer = DpAccounting()
