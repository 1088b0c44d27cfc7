"""A person: a name, roles and groups."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.errors import InvalidParameter
from quaestor.ledger import stored_text as texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.ledger.store.base import Row

__all__ = ["ROLES", "Person", "checked_groups", "checked_roles"]

ROLES = ("owner", "approver", "analyst", "auditor")
"""Owners manage datasets, accounts and people; approvers decide; analysts ask; auditors read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who may use a service.

    >>> ann = Person(name="ann", roles=("analyst",))
    >>> ann.active, ann.roles
    (True, ('analyst',))
    """

    name: str
    roles: tuple[str, ...]
    groups: tuple[str, ...] = ()
    password: str = ""
    """What a password is checked against; empty if there is none."""
    created: str = ""
    ended: str = ""
    """When they were shut out, if they were."""

    @property
    def active(self) -> bool:
        """Whether they may use the service."""
        return not self.ended

    @classmethod
    def from_row(cls, row: Row) -> Person:
        """As the store keeps it."""
        name, roles, groups, password, created, ended = row
        return cls(
            name=name,
            roles=tuple(json.loads(roles)),
            groups=tuple(json.loads(groups)),
            password=password,
            created=created,
            ended=ended,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, without anything secret."""
        return {
            "name": self.name,
            "roles": list(self.roles),
            "groups": list(self.groups),
            "active": self.active,
            "has_password": bool(self.password),
            "created": self.created,
        }


def checked_roles(field: str, roles: Iterable[str]) -> tuple[str, ...]:
    """Roles in their order, each once; at least one."""
    given = list(roles)
    for role in given:
        if role not in ROLES:
            raise InvalidParameter(field, role, f"one of {', '.join(ROLES)}")
    if not given:
        raise InvalidParameter(field, given, f"at least one of {', '.join(ROLES)}")
    return tuple(role for role in ROLES if role in given)


def checked_groups(groups: Iterable[str]) -> tuple[str, ...]:
    """Names of groups, sorted, each once."""
    return tuple(sorted({texts.name("group", group) for group in groups}))
