"""From the options of ``account open`` to the definition of an account."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quaestor.accounting.expressions import parse_releases
from quaestor.cli.arguments.files import query_text, read_plan
from quaestor.cli.options import PolicyKind
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.membership.plan_file import Plan
    from quaestor.accounting.releases import Release
    from quaestor.ledger import AccountDefinition, Dashboard, GroupQuota, Open, Planned, Quota

__all__ = ["AccountOptions", "account_definition"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountOptions:
    """What was typed about an account."""

    name: str
    epsilon: float
    delta: float
    datasets: tuple[str, ...] = ()
    policy: PolicyKind | None = None
    expected: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    quotas: tuple[str, ...] = ()
    plan_file: Path | None = None
    neighbours: str | None = None
    beside: bool = False
    every: str | None = None
    first: str | None = None
    most: int | None = None
    enforced: bool = False
    predecessor: str = ""
    closes: str | None = None
    succeeds: str | None = None
    groups: tuple[str, ...] = ()
    approval: bool | float | None = None

    @property
    def kind(self) -> PolicyKind:
        """The policy that was named, or the one that goes with what else was given."""
        if self.policy is not None:
            return self.policy
        if self.queries:
            return PolicyKind.DASHBOARD
        if self.every or self.first:
            return PolicyKind.BLOCKS
        given = self.plan or (self.plan_file is not None and not self.expected)
        return PolicyKind.PLANNED if given else PolicyKind.OPEN


def account_definition(asked: AccountOptions) -> AccountDefinition:
    """The definition, or an error that says which option is wrong."""
    from quaestor.ledger import AccountDefinition

    plan = None if asked.plan_file is None else read_plan(asked.plan_file)
    datasets = _datasets(asked, plan)
    _refuse_options_of_others(asked)
    facts = None if plan is None else plan.membership
    return AccountDefinition(
        name=asked.name,
        epsilon=asked.epsilon,
        delta=asked.delta,
        datasets=datasets,
        policy=_policy(asked, datasets, plan),
        membership=facts if getattr(facts, "facts", ()) else None,
        neighbours=asked.neighbours or (plan.neighbours if plan else "add_remove"),
        shares=tuple(map(_quota, asked.quotas)),
        beside=asked.beside,
        closes=asked.closes,
        succeeds=asked.succeeds,
        groups=tuple(map(_group, asked.groups)),
        approval=asked.approval,
    )


def _datasets(asked: AccountOptions, plan: Plan | None) -> tuple[str, ...]:
    if plan is None:
        if not asked.datasets:
            raise InvalidParameter(
                "--dataset", None, "given: --dataset NAME, the dataset that answers will be about"
            )
        return asked.datasets
    if asked.datasets:
        valid = "left out, because the plan file names the datasets"
        raise InvalidParameter("--dataset", ", ".join(asked.datasets), valid)
    return tuple(plan.databases)


def _refuse_options_of_others(asked: AccountOptions) -> None:
    blocks = (PolicyKind.BLOCKS,)
    for option, given, kinds in (
        ("--expected", asked.expected[:1], (PolicyKind.OPEN, PolicyKind.BLOCKS)),
        ("--plan", asked.plan[:1], (PolicyKind.PLANNED,)),
        ("--query", asked.queries[:1], (PolicyKind.DASHBOARD,)),
        ("--every", [asked.every] if asked.every else [], blocks),
        ("--first", [asked.first] if asked.first else [], blocks),
        ("--most", [asked.most] if asked.most else [], blocks),
        ("--enforced", [True] if asked.enforced else [], blocks),
        ("--predecessor", [asked.predecessor] if asked.predecessor else [], blocks),
    ):
        if given and asked.kind not in kinds:
            named = " or ".join(kinds)
            valid = f"left out, or used with --policy {named}: this account has policy {asked.kind}"
            raise InvalidParameter(option, given[0], valid)


def _policy(
    asked: AccountOptions, datasets: tuple[str, ...], plan: Plan | None
) -> Open | Planned | Dashboard:
    from quaestor.ledger import Blocked, Dashboard, Open, Planned

    listed: dict[str, list[Release]] = {
        dataset: list(plan.databases[dataset]) if plan else [] for dataset in datasets
    }
    if asked.kind is PolicyKind.OPEN:
        expected = [release for releases in listed.values() for release in releases]
        expected += [release for text in asked.expected for release in parse_releases(text)]
        return Open(expected=tuple(expected))
    if asked.kind is PolicyKind.BLOCKS:
        for option, value in (("--every", asked.every), ("--first", asked.first)):
            if value is None:
                valid = "given with --policy blocks, such as --every month --first 2024-01"
                raise InvalidParameter(option, value, valid)
        return Blocked(
            every=asked.every or "",
            first=asked.first or "",
            most=asked.most,
            enforced=asked.enforced,
            predecessor=asked.predecessor,
            expected=tuple(release for text in asked.expected for release in parse_releases(text)),
        )
    if asked.kind is PolicyKind.PLANNED:
        for text in asked.plan:
            dataset, releases = _of_dataset("--plan", text, datasets)
            listed[dataset] += releases
        declared = {d: tuple(releases) for d, releases in listed.items() if releases}
        if not declared:
            valid = (
                "given for a planned account: the releases, such as --plan "
                '"PureDP(epsilon=0.1) * 10"'
            )
            raise InvalidParameter("--plan", None, valid)
        return Planned(releases=declared)
    return Dashboard.of(_queries(asked, datasets))


def _of_dataset(
    option: str, text: str, datasets: tuple[str, ...]
) -> tuple[str, tuple[Release, ...]]:
    """``dataset: releases``, or releases alone where there is one dataset."""
    before, colon, expression = text.rpartition(":")
    dataset = before.strip() if colon else datasets[0]
    if dataset not in datasets or (not colon and len(datasets) > 1):
        valid = f'"DATASET: RELEASE", of one of {", ".join(datasets)}'
        raise InvalidParameter(option, text, valid)
    return dataset, tuple(parse_releases(expression))


def _queries(
    asked: AccountOptions, datasets: tuple[str, ...]
) -> dict[str, tuple[str, tuple[Release, ...]]]:
    queries: dict[str, tuple[str, tuple[Release, ...]]] = {}
    for text in asked.queries:
        file, equals, declared = text.partition("=")
        if not equals or not file.strip():
            raise InvalidParameter("--query", text, '"FILE=RELEASE", once for each query')
        query = query_text(file.strip())
        if query in queries:
            raise InvalidParameter("--query", text, "a query that was not given before")
        queries[query] = _of_dataset("--query", declared, datasets)
    if not queries:
        valid = 'given for a dashboard, such as "weekly.sql=PureDP(epsilon=0.1)"'
        raise InvalidParameter("--query", None, valid)
    return queries


def _quota(text: str) -> Quota:
    from quaestor.ledger import Quota

    valid = "ANALYST=EPSILON,DELTA, such as ada=0.5,5e-7"
    analyst, epsilon, delta = _amounts("--quota", text, valid)
    return Quota(analyst=analyst, epsilon=epsilon, delta=delta)


def _group(text: str) -> GroupQuota:
    from quaestor.ledger import GroupQuota

    valid = "GROUP:MEMBER,MEMBER=EPSILON,DELTA, such as team:ada,bob=0.5,5e-7"
    named, epsilon, delta = _amounts("--group", text, valid)
    group, colon, members = named.partition(":")
    if not colon:
        raise InvalidParameter("--group", text, valid)
    listed = tuple(member.strip() for member in members.split(","))
    return GroupQuota(group=group.strip(), members=listed, epsilon=epsilon, delta=delta)


def _amounts(option: str, text: str, valid: str) -> tuple[str, float, float]:
    """``name=epsilon,delta``; a delta that is left out is 0."""
    name, equals, amounts = text.rpartition("=")
    try:
        epsilon, delta = (*map(float, amounts.split(",")), 0.0)[:2]
    except ValueError:
        equals = ""
    if not equals or amounts.count(",") > 1:
        raise InvalidParameter(option, text, valid)
    return name.strip(), epsilon, delta
