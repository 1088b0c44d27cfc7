"""A plan file: databases, what is released of them, and the facts, in TOML.

::

    neighbours = "add_remove"                    # or "replace", "replace_record"
    facts = [{ fact = "AtMost", m = 365 }]       # as in JSON; all of them hold

    [databases]                                  # a name, and what is released
    central = "Laplace(scale=50) * 12"
    coast = ["PureDP(epsilon=0.01)", "Gaussian(sigma=100)"]

    [[many]]                                     # "hospital 1" to "hospital 5000", all alike
    name = "hospital"
    count = 5000
    releases = "PureDP(epsilon=0.01)"

A fact that names "hospital" means all of them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.accounting.expressions import parse_releases
from quaestor.accounting.membership import compose_across
from quaestor.accounting.membership.facts import All, Fact, fact_from_dict
from quaestor.accounting.releases.base import check_count
from quaestor.errors import InvalidParameter, InvalidPlan

if TYPE_CHECKING:
    from quaestor.accounting.membership.result import AcrossComposition
    from quaestor.accounting.releases import Release

__all__ = ["Plan", "plan_from_toml"]

_KEYS = ("neighbours", "facts", "databases", "many")
_MANY = ("name", "count", "releases")
_MOST_DATABASES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a plan file says."""

    databases: dict[str, tuple[Release, ...]]
    membership: Fact
    neighbours: str

    def composed(self, *, neighbours: str | None = None) -> AcrossComposition:
        """All of it together; ``neighbours`` instead of what the file says, if given."""
        return compose_across(
            self.databases,
            membership=self.membership,
            neighbours=self.neighbours if neighbours is None else neighbours,
        )


def plan_from_toml(text: str) -> Plan:
    """Read a plan; every error says where and what to do.

    >>> plan = plan_from_toml('''
    ... facts = [{ fact = "AtMost", m = 1 }]
    ... [databases]
    ... north = "PureDP(epsilon=0.1)"
    ... south = "PureDP(epsilon=0.2)"
    ... ''')
    >>> plan.membership, plan.composed().epsilon(delta=0.0)
    (All(AtMost(1)), 0.2)
    """
    try:
        plan = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise InvalidPlan("", f"this is not TOML: {problem}") from None
    for key in plan:
        if key not in _KEYS:
            raise InvalidPlan(key, f"unknown; a plan has {', '.join(_KEYS)}")
    groups: dict[str, list[str]] = {}
    databases = _databases(plan.get("databases", {}))
    for place, many in enumerate(_list(plan, "many"), start=1):
        _add_many(databases, groups, many, f"many {place}")
    if not databases:
        raise InvalidPlan("databases", 'none; write  [databases]  and then  north = "PureDP(...)"')
    facts = [
        _fact(fact, groups, databases, f"fact {place}")
        for place, fact in enumerate(_list(plan, "facts"), start=1)
    ]
    neighbours = plan.get("neighbours", "add_remove")
    return Plan(databases=databases, membership=All(*facts), neighbours=neighbours)


def _list(plan: dict[str, Any], key: str) -> list[Any]:
    listed = plan.get(key, [])
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise InvalidPlan(key, "expected a list of tables")
    return listed


def _databases(given: Any) -> dict[str, tuple[Release, ...]]:
    if not isinstance(given, dict):
        raise InvalidPlan("databases", "expected a table of names and releases")
    return {name: _releases(value, f"database {name!r}") for name, value in given.items()}


def _releases(value: Any, place: str) -> tuple[Release, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InvalidPlan(place, 'expected a release, such as "PureDP(epsilon=0.1) * 4"')
    try:
        return tuple(release for text in texts for release in parse_releases(text))
    except InvalidParameter as problem:
        raise InvalidPlan(place, str(problem)) from None


def _add_many(
    databases: dict[str, tuple[Release, ...]],
    groups: dict[str, list[str]],
    many: dict[str, Any],
    place: str,
) -> None:
    for key in (*_MANY, *many):
        if key not in many or key not in _MANY:
            raise InvalidPlan(place, f"{key!r} is {'unknown' if key in many else 'missing'}")
    name = many["name"]
    if not isinstance(name, str):
        raise InvalidPlan(place, "the name is a text")
    try:
        count = check_count("count", many["count"], largest=_MOST_DATABASES)
    except InvalidParameter as problem:
        raise InvalidPlan(place, str(problem)) from None
    releases = _releases(many["releases"], place)
    groups[name] = [f"{name} {i}" for i in range(1, count + 1)]
    for each in groups[name]:
        if each in databases:
            raise InvalidPlan(place, f"there are two databases called {each!r}")
        databases[each] = releases


def _fact(
    given: dict[str, Any],
    groups: dict[str, list[str]],
    databases: dict[str, tuple[Release, ...]],
    place: str,
) -> Fact:
    def opened(value: Any) -> Any:
        """Names of groups become the names of their members."""
        if isinstance(value, str):
            return groups[value] if value in groups and value not in databases else value
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            lists = [name if isinstance(name, list) else [name] for name in map(opened, value)]
            return [name for names in lists for name in names]
        return [opened(entry) for entry in value] if isinstance(value, list) else value

    try:
        described = {k: v if k in ("fact", "facts") else opened(v) for k, v in given.items()}
        return fact_from_dict(described)
    except InvalidParameter as problem:
        raise InvalidPlan(place, str(problem)) from None
