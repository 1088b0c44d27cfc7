"""Whether a declared plan keeps to the target: the optimal theorems, asked once, in advance."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from quaestor.accounting.compose import compose, compose_nonadaptive
from quaestor.accounting.membership import compose_across
from quaestor.accounting.releases import Repeated
from quaestor.errors import InvalidParameter, QuaestorError, TargetOutOfReach
from quaestor.ledger.definition import AccountDefinition
from quaestor.ledger.fitness import refuse_misfits, refuse_mixed_directions
from quaestor.ledger.policies.kinds import Dashboard, Open

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.accounting.releases import Release

__all__ = ["check_new", "check_plan", "plan_problem", "planned_epsilon"]


class _Composed(Protocol):
    def epsilon(self, *, delta: float) -> float: ...

    def delta(self, *, epsilon: float) -> float: ...


def check_new(definition: AccountDefinition) -> None:
    """Refuse a new account that declares too much, or something of which too little is known.

    Raises:
        TargetOutOfReach: the plan does not fit; the message says what it would need.
        InvalidParameter: no theorem is known to hold; the message says what to do instead.
    """
    policy = definition.policy
    if isinstance(policy, Open):
        refuse_misfits("expected", policy.expected)
        return
    if isinstance(policy, Dashboard) and not policy.by_digest:
        raise InvalidParameter(
            "queries",
            next(iter(policy.queries)),
            "known by the digests of their texts, for a name could be given to any query after "
            "other answers: use Dashboard.of({text: (dataset, releases)})",
        )
    check_plan(definition)


def check_plan(definition: AccountDefinition) -> None:
    """Refuse a plan, or a dashboard, that loses more than the account's target.

    Theorem:
        What is declared is fixed before the first answer, so that optimal composition holds for
        it (for a dashboard, whose queries are fixed by their digests, non-adaptive composition),
        and every history within its slots is a part of it. Of several sound answers the best
        counts.

    Raises:
        TargetOutOfReach: the plan does not fit; the message says what it would need.
        InvalidParameter: no theorem is known to hold; the message says what to do instead.
    """
    if isinstance(definition.policy, Open):
        return
    declared = _by_dataset(definition)
    together = [release for releases in declared.values() for release in releases]
    refuse_misfits("policy", together)
    refuse_mixed_directions(together)
    epsilon, delta = definition.epsilon, definition.delta
    for composed in _sound(definition):
        if composed.epsilon(delta=delta) <= epsilon or composed.delta(epsilon=epsilon) <= delta:
            return
    needed = planned_epsilon(definition)
    raise TargetOutOfReach(
        f"what account {definition.name!r} declares loses epsilon {needed:.7g} at delta {delta:g}, "
        f"and its target is {epsilon:.7g}: take releases away, add noise, or raise the target"
    )


def plan_problem(definition: AccountDefinition) -> str | None:
    """What is wrong with a plan that was accepted by earlier theorems; None if it still stands.

    A dashboard that knows its queries by names alone is checked as a plan: what they ask may have
    been chosen by answers.
    """
    return None if isinstance(definition.policy, Open) else _problem(definition.to_json())


@lru_cache(maxsize=256)
def _problem(text: str) -> str | None:
    try:
        check_plan(AccountDefinition.from_json(text))
    except QuaestorError as problem:
        return f"by today's theorems its promise is not proved: {problem}"
    return None


def planned_epsilon(definition: AccountDefinition) -> float | None:
    """What the whole plan loses, at the account's delta; None where nothing is planned."""
    if isinstance(definition.policy, Open):
        return None
    return min(composed.epsilon(delta=definition.delta) for composed in _sound(definition))


def _by_dataset(definition: AccountDefinition) -> dict[str, list[Release]]:
    declared: dict[str, list[Release]] = {dataset: [] for dataset in definition.datasets}
    policy = definition.policy
    if isinstance(policy, Dashboard):
        for dataset, releases in policy.queries.values():
            declared[dataset].extend(releases)
    elif not isinstance(policy, Open):
        for dataset, releases in policy.releases.items():
            declared[dataset].extend(releases)
    return declared


def _sound(definition: AccountDefinition) -> Iterator[_Composed]:
    """Every composition of the plan that is sound for this account.

    ``compose`` takes the person to be removed in all releases, or added in all. Whoever moves from
    one dataset to another is removed here and added there: where that matters to a release, only
    ``compose_across`` looks at it.
    """
    declared, policy = _by_dataset(definition), definition.policy
    together = [release for releases in declared.values() for release in releases]
    in_place = definition.neighbours == "replace_record"
    moved = (
        definition.neighbours == "replace"
        and len(declared) > 1
        and any(_has_direction(release) for release in together)
    )
    if in_place or moved or (definition.membership is not None and len(declared) > 1):
        yield compose_across(
            declared, membership=definition.membership, neighbours=definition.neighbours
        )
    if not in_place and not moved:
        # as if everybody were everywhere: no two memberships differ in more
        in_advance = isinstance(policy, Dashboard) and policy.by_digest
        yield compose_nonadaptive(*together) if in_advance else compose(*together)


def _has_direction(release: Release) -> bool:
    return (release.release if isinstance(release, Repeated) else release).directed
