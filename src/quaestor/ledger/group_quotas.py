"""Quotas of groups: how much of an account's budget several analysts may use together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quaestor.accounting.releases.base import LARGEST_EPSILON, check_real
from quaestor.errors import InvalidParameter
from quaestor.ledger import stored_text as texts
from quaestor.ledger.policies.open import check_filter
from quaestor.ledger.theory import best_filter, filter_from_dict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quaestor.accounting.filters.base import Filter
    from quaestor.accounting.releases import Release

__all__ = ["GroupQuota", "checked_groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupQuota:
    """How much of an account's budget a group may use: a filter over all its members' charges.

    It holds in addition to each member's own quota and to the account's total, and guarantees as
    little about what its members can learn. An analyst may be in several groups.

    >>> GroupQuota(group="students", members=("bob", "eve"), epsilon=0.5, delta=0.0).members
    ('bob', 'eve')
    """

    group: str
    members: tuple[str, ...]
    epsilon: float
    delta: float
    filter: Filter | None = None

    def __post_init__(self) -> None:
        """Check the names and the numbers."""
        texts.name("group", self.group)
        members = self.members
        if not isinstance(members, list | tuple) or not members or len(set(members)) < len(members):
            raise InvalidParameter("members", members, "names of analysts, at least one, each once")
        object.__setattr__(self, "members", tuple(texts.name("member", each) for each in members))
        epsilon = check_real("epsilon", self.epsilon, low=0.0, high=LARGEST_EPSILON)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", check_real("delta", self.delta, low=0.0, high=1.0))
        check_filter(self.filter, epsilon=self.epsilon, delta=self.delta)

    @property
    def holder(self) -> str:
        """Whose totals the group's are: a name with a blank before it, which no analyst has."""
        return f" {self.group}"

    @property
    def title(self) -> str:
        """Whose quota it is, in words."""
        return f"group {self.group}"

    def to_dict(self) -> dict[str, Any]:
        """The quota as plain JSON values."""
        return {
            "group": self.group,
            "members": list(self.members),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "filter": None if self.filter is None else self.filter.to_dict(),
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> GroupQuota:
        """Read back what :meth:`to_dict` wrote."""
        chosen = described["filter"]
        return cls(
            group=described["group"],
            members=tuple(described["members"]),
            epsilon=described["epsilon"],
            delta=described["delta"],
            filter=None if chosen is None else filter_from_dict(chosen),
        )


def checked_groups(groups: object, *, expected: Sequence[Release]) -> tuple[GroupQuota, ...]:
    """An account's groups, each with a filter: the one that lets the most of what is expected."""
    if not isinstance(groups, list | tuple) or not all(isinstance(g, GroupQuota) for g in groups):
        raise InvalidParameter("groups", groups, "a list of GroupQuota(...)")
    names = [each.group for each in groups]
    if len(set(names)) < len(names):
        raise InvalidParameter("groups", names, "different names of groups")
    return tuple(
        each
        if each.filter is not None
        else replace(
            each, filter=best_filter(epsilon=each.epsilon, delta=each.delta, expected=expected)
        )
        for each in groups
    )
