"""What an account is: a frozen value, fixed for good when the account opens."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from quaestor.accounting.compose import compose
from quaestor.accounting.membership import NEIGHBOURS
from quaestor.accounting.membership.facts import All, Fact, fact_from_dict
from quaestor.accounting.membership.rules import resolve
from quaestor.accounting.releases.base import LARGEST_EPSILON, check_real
from quaestor.errors import InvalidParameter, QuaestorError
from quaestor.ledger import stored_text as texts
from quaestor.ledger.group_quotas import GroupQuota, checked_groups
from quaestor.ledger.policies.base import Policy, policy_from_dict
from quaestor.ledger.policies.open import Open, check_filter
from quaestor.ledger.price import Request, checked_releases
from quaestor.ledger.theory import best_filter, filter_from_dict, refuse_misfits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quaestor.accounting.filters.base import Filter
    from quaestor.accounting.releases import Release

__all__ = [
    "ANYBODY",
    "AccountDefinition",
    "Quota",
    "Share",
    "plan_problem",
    "planned_epsilon",
]

ANYBODY = "*"
"""The name under which every analyst without a quota of their own has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How much of an account's budget one analyst may use: a filter over the analyst's charges.

    A quota is not a guarantee about what the analyst can learn. Analysts who act on each other's
    answers learn from each other, and only the account's total is guaranteed. The analyst ``"*"``
    stands for everybody who is not named, each with a quota of this size.

    >>> Quota(analyst="ann", epsilon=0.5, delta=0.0).epsilon
    0.5
    """

    analyst: str
    epsilon: float
    delta: float
    filter: Filter | None = None

    def __post_init__(self) -> None:
        """Check the name and the numbers."""
        if self.analyst != ANYBODY:
            texts.name("analyst", self.analyst)
        _check_target(self)
        check_filter(self.filter, epsilon=self.epsilon, delta=self.delta)

    def to_dict(self) -> dict[str, Any]:
        """The quota as plain JSON values."""
        chosen = None if self.filter is None else self.filter.to_dict()
        return {
            "analyst": self.analyst,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "filter": chosen,
        }


Share = Quota
"""The earlier name of :class:`Quota`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountDefinition:
    """An account's name, target, datasets, policy and quotas.

    Args:
        name: what the account is called.
        epsilon: with ``delta``, what everything charged to the account is together, at most: the
            account's one guarantee.
        delta: see ``epsilon``.
        datasets: the datasets that it pays for, in each of which a person is or is not.
        policy: ``Open()``, ``Planned(...)`` or ``Dashboard(...)``.
        membership: what is publicly known of the datasets that one person is in.
        neighbours: which worlds are compared, as for :func:`quaestor.compose_across`.
        shares: the analysts' quotas, under the name that stored definitions have for them. With
            quotas, others than those named may charge nothing, unless there is a quota for
            ``"*"``, and each analyst sees the own quota only.
        beside: whether a dataset may be covered by another account as well; people in it lose
            the sum of both.
        closes: when it closes by itself, in UTC: from then on nothing can be charged. A date is
            its first moment.
        approval: whether charges need somebody else's approval: True, or the epsilon above which
            a charge does.
        groups: quotas of groups of analysts, beside each member's own.
        succeeds: the name of a closed account that this one follows on the same datasets; people
            in them lose the sum of both, which the account's promise says.

    >>> trial = AccountDefinition(name="trial", epsilon=1.0, delta=1e-6, datasets=("patients",))
    >>> AccountDefinition.from_json(trial.to_json()) == trial
    True
    """

    name: str
    epsilon: float
    delta: float
    datasets: tuple[str, ...]
    policy: Policy = Open()  # noqa: RUF009  # a frozen value
    membership: Fact | None = None
    neighbours: str = "add_remove"
    shares: tuple[Quota, ...] = ()
    beside: bool = False
    closes: str | None = None
    succeeds: str | None = None
    groups: tuple[GroupQuota, ...] = ()
    approval: bool | float | None = None

    def __post_init__(self) -> None:
        """Check everything, and choose the filters that are not given."""
        texts.name("name", self.name)
        _check_target(self)
        object.__setattr__(self, "datasets", _checked_datasets(self.datasets))
        _check_policy(self)
        if self.neighbours not in NEIGHBOURS:
            raise InvalidParameter("neighbours", self.neighbours, f"one of {', '.join(NEIGHBOURS)}")
        if self.membership is not None:
            if not isinstance(self.membership, Fact):
                raise InvalidParameter("membership", self.membership, "a fact, such as AtMost(2)")
            resolve(All(self.membership), self.datasets)
        if self.closes is not None:
            object.__setattr__(self, "closes", texts.utc("closes", self.closes))
        if self.succeeds is not None and texts.name("succeeds", self.succeeds) == self.name:
            raise InvalidParameter("succeeds", self.succeeds, "another account than itself")
        object.__setattr__(self, "approval", _checked_approval(self.approval))
        _choose_filters(self)
        groups = checked_groups(self.groups, expected=self.policy.expected_releases())
        object.__setattr__(self, "groups", groups)
        for each in groups:
            if strangers := [member for member in each.members if self.quota(member) is None]:
                valid = (
                    "made of analysts who each have a quota; one quota for all is enough "
                    '(--quota "*=1")'
                )
                raise InvalidParameter("groups", strangers[0], valid)

    def needs_approval(self, releases: tuple[Release, ...]) -> bool:
        """Whether a charge for these needs somebody else's approval.

        What they lose is measured at the account's delta.
        """
        if self.approval is None or self.approval is True:
            return self.approval is True
        return _epsilon_of(releases, self.delta) > self.approval

    def groups_of(self, analyst: str) -> tuple[GroupQuota, ...]:
        """The quotas of the groups that this analyst is in."""
        return tuple(each for each in self.groups if analyst in each.members)

    def quota(self, analyst: str) -> Quota | None:
        """The quota that this analyst has, if any."""
        by_name = {quota.analyst: quota for quota in self.shares}
        return by_name.get(analyst, by_name.get(ANYBODY))

    def request(  # noqa: PLR0913  # what an entry says
        self,
        releases: object,
        *,
        dataset: str | None,
        analyst: str,
        purpose: str = "",
        query: str = "",
        query_text: str | None = None,
        by_owner: bool = False,
        blocks: object = (),
    ) -> Request:
        """What is asked of the account, or an error that says what is wrong with it.

        Where there are quotas it needs a name, unless it is the owner who asks what would fit. The
        text of a query stands for its digest.
        """
        if query_text is not None:
            digest = texts.query_digest(query_text)
            if query not in ("", digest):
                raise InvalidParameter(
                    "query", query, "left out, or equal to the digest of query_text"
                )
            query = digest
        if dataset is None and len(self.datasets) == 1:
            dataset = self.datasets[0]
        if dataset not in self.datasets:
            valid = f"one of the account's: {', '.join(self.datasets)}"
            raise InvalidParameter("dataset", dataset, valid)
        if self.shares and not analyst and not by_owner:
            valid = "given (--analyst), because the account has quotas"
            raise InvalidParameter("analyst", analyst, valid)
        if analyst:
            texts.name("analyst", analyst)
        listed = checked_releases("releases", releases)
        refuse_misfits("releases", listed)
        return Request(
            releases=listed,
            dataset=dataset,
            analyst=analyst,
            purpose=texts.line("purpose", purpose),
            query=texts.line("query", query),
            blocks=self.policy.checked_blocks(blocks) if blocks or self.policy.by_blocks else (),
        )

    def to_dict(self) -> dict[str, Any]:
        """The definition as plain JSON values; what came later is there only where it is used."""
        later = {
            "closes": self.closes,
            "succeeds": self.succeeds,
            "groups": [group.to_dict() for group in self.groups],
            "approval": self.approval,
        }
        return {
            "name": self.name,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "datasets": list(self.datasets),
            "policy": self.policy.to_dict(),
            "membership": None if self.membership is None else self.membership.to_dict(),
            "neighbours": self.neighbours,
            "shares": [quota.to_dict() for quota in self.shares],
            "beside": self.beside,
            **{key: value for key, value in later.items() if value},
        }

    def to_json(self) -> str:
        """The definition as JSON text, always the same for the same definition."""
        return texts.canonical(self.to_dict())

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> AccountDefinition:
        """Read back what :meth:`to_dict` wrote."""
        given = dict(described)
        given["datasets"] = tuple(given["datasets"])
        given["policy"] = policy_from_dict(given["policy"])
        if given["membership"] is not None:
            given["membership"] = fact_from_dict(given["membership"])
        given["shares"] = tuple(map(_quota_from_dict, given["shares"]))
        given["groups"] = tuple(map(GroupQuota.from_dict, given.get("groups", ())))
        return cls(**given)

    @classmethod
    def from_json(cls, text: str) -> AccountDefinition:
        """Read back what :meth:`to_json` wrote."""
        try:
            return cls.from_dict(json.loads(text))
        except InvalidParameter:
            raise
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as problem:
            shown = f"what to_json wrote ({type(problem).__name__})"
            raise InvalidParameter("definition", text, shown) from None


def _quota_from_dict(described: Mapping[str, Any]) -> Quota:
    chosen = described["filter"]
    return Quota(
        analyst=described["analyst"],
        epsilon=described["epsilon"],
        delta=described["delta"],
        filter=None if chosen is None else filter_from_dict(chosen),
    )


def _check_target(target: AccountDefinition | Quota) -> None:
    epsilon = check_real("epsilon", target.epsilon, low=0.0, high=LARGEST_EPSILON)
    object.__setattr__(target, "epsilon", epsilon)
    object.__setattr__(target, "delta", check_real("delta", target.delta, low=0.0, high=1.0))


def _checked_approval(approval: object) -> bool | float | None:
    if approval is None or isinstance(approval, bool):
        return approval or None
    epsilon = check_real("approval", approval, low=0.0, high=LARGEST_EPSILON)
    if not epsilon:
        raise InvalidParameter("approval", approval, "True, or an epsilon above 0")
    return epsilon


@lru_cache(maxsize=1024)
def _epsilon_of(releases: tuple[Release, ...], delta: float) -> float:
    return compose(*releases).epsilon(delta=delta)


def _checked_datasets(datasets: object) -> tuple[str, ...]:
    listed = (datasets,) if isinstance(datasets, str) else datasets
    if not isinstance(listed, list | tuple) or not listed:
        raise InvalidParameter("datasets", datasets, "at least one name of a dataset")
    names = tuple(texts.name("dataset", dataset) for dataset in listed)
    if len(set(names)) < len(names):
        raise InvalidParameter("datasets", list(names), "different names")
    return names


def _check_policy(definition: AccountDefinition) -> None:
    policy, datasets = definition.policy, definition.datasets
    if not isinstance(policy, Policy):
        raise InvalidParameter("policy", policy, "Open(...), Planned(...) or Dashboard(...)")
    for dataset in policy.datasets():
        if dataset not in datasets:
            raise InvalidParameter("policy", dataset, f"about {', '.join(datasets)} only")


def _choose_filters(definition: AccountDefinition) -> None:
    """Fix every filter that is not given, by what the account expects."""
    policy = definition.policy
    object.__setattr__(definition, "policy", policy.completed(definition))
    if not isinstance(definition.shares, list | tuple) or not all(
        isinstance(quota, Quota) for quota in definition.shares
    ):
        raise InvalidParameter("shares", definition.shares, "a list of Quota(...)")
    names = [quota.analyst for quota in definition.shares]
    if len(set(names)) < len(names):
        raise InvalidParameter("shares", names, "one for each analyst")
    expected = policy.expected_releases()
    quotas = tuple(
        quota
        if quota.filter is not None
        else replace(
            quota,
            filter=best_filter(epsilon=quota.epsilon, delta=quota.delta, expected=expected),
        )
        for quota in definition.shares
    )
    object.__setattr__(definition, "shares", quotas)


def plan_problem(definition: AccountDefinition) -> str | None:
    """What is wrong with a policy that was accepted by earlier theorems; None if it still stands.

    A dashboard that knows its queries by names alone is checked as a plan: what they ask may have
    been chosen by answers.
    """
    return _problem(definition.to_json()) if definition.policy.checked_again else None


@lru_cache(maxsize=256)
def _problem(text: str) -> str | None:
    definition = AccountDefinition.from_json(text)
    try:
        definition.policy.check_again(definition)
    except QuaestorError as problem:
        return f"by current theory its guarantee is not proved: {problem}"
    return None


def planned_epsilon(definition: AccountDefinition) -> float | None:
    """What the whole plan loses, at the account's delta; None where nothing is planned.

    >>> from quaestor import PureDP
    >>> from quaestor.ledger import Planned
    >>> planned_epsilon(
    ...     AccountDefinition(
    ...         name="year", epsilon=1.0, delta=0.0, datasets=("patients",),
    ...         policy=Planned(releases={"patients": (PureDP(epsilon=0.25) * 4,)}),
    ...     )
    ... )
    1.0
    """
    return definition.policy.planned_epsilon(definition)
