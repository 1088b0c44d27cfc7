"""Whether a declared plan keeps to the target: the optimal theorems, asked once, in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from quaestor.accounting.across import compose_across
from quaestor.accounting.compose import compose, compose_nonadaptive
from quaestor.errors import TargetOutOfReach
from quaestor.ledger.policies import Dashboard, Open

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.accounting.releases import Release
    from quaestor.ledger.definition import AccountDefinition

__all__ = ["check_plan", "planned_epsilon"]


class _Composed(Protocol):
    def epsilon(self, *, delta: float) -> float: ...

    def delta(self, *, epsilon: float) -> float: ...


def check_plan(definition: AccountDefinition) -> None:
    """Refuse a plan, or a dashboard, that loses more than the account's target.

    Theorem:
        What is declared is fixed before the first answer, so that optimal composition holds for
        it (for a dashboard, whose queries are fixed too, non-adaptive composition), and every
        history within its slots is a part of it. Of several sound answers the best counts.

    Raises:
        TargetOutOfReach: the plan does not fit; the message says what it would need.
    """
    if isinstance(definition.policy, Open):
        return
    epsilon, delta = definition.epsilon, definition.delta
    for composed in _sound(definition):
        if composed.epsilon(delta=delta) <= epsilon or composed.delta(epsilon=epsilon) <= delta:
            return
    needed = planned_epsilon(definition)
    raise TargetOutOfReach(
        f"what account {definition.name!r} declares loses epsilon {needed:.7g} at delta {delta:g}, "
        f"and its target is {epsilon:.7g}: take releases away, add noise, or raise the target"
    )


def planned_epsilon(definition: AccountDefinition) -> float | None:
    """What the whole plan loses, at the account's delta; None where nothing is planned."""
    if isinstance(definition.policy, Open):
        return None
    return min(composed.epsilon(delta=definition.delta) for composed in _sound(definition))


def _sound(definition: AccountDefinition) -> Iterator[_Composed]:
    """Every composition of the plan that is sound for this account."""
    by_dataset: dict[str, list[Release]] = {dataset: [] for dataset in definition.datasets}
    policy = definition.policy
    if isinstance(policy, Dashboard):
        for dataset, releases in policy.queries.values():
            by_dataset[dataset].extend(releases)
    elif not isinstance(policy, Open):
        for dataset, releases in policy.releases.items():
            by_dataset[dataset].extend(releases)
    together = [release for releases in by_dataset.values() for release in releases]
    in_place = definition.neighbours == "replace_record"
    if in_place or (definition.membership is not None and len(by_dataset) > 1):
        yield compose_across(
            by_dataset, membership=definition.membership, neighbours=definition.neighbours
        )
    if not in_place:
        # as if everybody were everywhere: no two memberships differ in more
        in_advance = isinstance(policy, Dashboard)
        yield compose_nonadaptive(*together) if in_advance else compose(*together)
