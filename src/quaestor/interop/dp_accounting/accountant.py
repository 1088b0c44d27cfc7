"""Our engine as one of dp-accounting's accountants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.accounting.compose import Composition, compose
from quaestor.accounting.releases.base import LARGEST_COUNT
from quaestor.interop.dp_accounting.conversion import read_event
from quaestor.interop.dp_accounting.events import Relation, privacy_accountant
from quaestor.interop.dp_accounting.noise_events import NO_PROMISE, RefusedEventError

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = ["QuaestorAccountant"]

_Details = privacy_accountant.PrivacyAccountant.CompositionErrorDetails


class QuaestorAccountant(privacy_accountant.PrivacyAccountant):  # type: ignore[misc]  # no types
    """A dp-accounting accountant whose every answer is the upper end of a certified interval.

    ``width`` asks for a relative width of these intervals, as ``epsilon_bounds`` has it.

    >>> import dp_accounting
    >>> accountant = QuaestorAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    >>> event = dp_accounting.RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=2)
    >>> round(accountant.compose(event, 10).get_epsilon(target_delta=0.0), 3)
    10.986
    """

    def __init__(
        self,
        neighboring_relation: Any = Relation.ADD_OR_REMOVE_ONE,
        *,
        width: float | None = None,
    ) -> None:
        super().__init__(neighboring_relation)
        self._width = width
        self._counts: dict[Release, int] = {}
        self._composition: Composition | None = None

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:  # noqa: FBT001  # so it is called
        try:
            parts = read_event(event, self.neighboring_relation)
        except RefusedEventError as refused:
            return _Details(refused.event, f"must be {refused.valid}")
        counts = dict(self._counts)
        for release, times in parts:
            counts[release] = counts.get(release, 0) + times * max(count, 1)
        if max(counts.values(), default=0) > LARGEST_COUNT:
            return _Details(event, f"must be repeated at most {LARGEST_COUNT} times in all")
        if do_compose and parts:
            self._counts, self._composition = counts, None
        return None

    @property
    def composition(self) -> Composition:
        """All that was composed so far, for bounds, trade-offs and explanations."""
        if self._composition is None:
            self._composition = compose(*(kind * count for kind, count in self._counts.items()))
        return self._composition

    def get_epsilon(self, target_delta: float) -> float:
        """The smallest epsilon known to be true at ``target_delta``: a sound upper bound."""
        if NO_PROMISE in self._counts:
            return float("inf")
        return self.composition.epsilon_bounds(delta=target_delta, width=self._width).upper

    def get_delta(self, target_epsilon: float) -> float:
        """The smallest delta known to be true at ``target_epsilon``: a sound upper bound."""
        if NO_PROMISE in self._counts:
            return 1.0
        return self.composition.delta_bounds(epsilon=target_epsilon, width=self._width).upper
