"""From the accounts that a catalog plans to those that a ledger keeps."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from quaestor.accounting.expressions import parse_releases
from quaestor.curator.catalog.source_digests import declared_of
from quaestor.curator.pricing.priced_compound import price_question
from quaestor.curator.pricing.priced_question import Budget, plan_question
from quaestor.curator.questions.block_reach import dated_by
from quaestor.errors import InvalidParameter
from quaestor.ledger import (
    AccountDefinition,
    Blocked,
    Dashboard,
    GroupQuota,
    Ledger,
    Open,
    Planned,
    Quota,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.membership.facts import Fact
    from quaestor.accounting.releases import Release
    from quaestor.curator.catalog.model import AccountPlan, Catalog
    from quaestor.ledger import DatasetDigests

__all__ = ["declared_for", "definition_of", "open_from_catalog"]


def definition_of(catalog: Catalog, name: str) -> AccountDefinition:
    """The account of that name as the ledger will keep it, for good.

    The questions of a dashboard are planned and priced here; their fingerprints are part of it.
    """
    planned = catalog.account(name)
    if planned is None:
        known = ", ".join(account.name for account in catalog.accounts) or "none yet"
        valid = f"an account that the catalog defines ({known}): write  [accounts.NAME]  there"
        raise InvalidParameter("account", name, valid)
    return AccountDefinition(
        name=planned.name,
        epsilon=planned.epsilon,
        delta=planned.delta,
        datasets=planned.datasets,
        policy=_policy(catalog, planned),
        membership=_membership(catalog, planned),
        neighbours=catalog.neighbours,
        shares=tuple(
            Quota(analyst=analyst, epsilon=epsilon, delta=delta)
            for analyst, epsilon, delta in planned.shares
        ),
        beside=planned.beside,
        closes=planned.closes,
        succeeds=planned.succeeds,
        approval=planned.approval,
        groups=tuple(
            GroupQuota(group=group, members=members, epsilon=epsilon, delta=delta)
            for group, members, epsilon, delta in planned.groups
        ),
    )


def declared_for(catalog: Catalog, datasets: Iterable[str]) -> dict[str, DatasetDigests]:
    """What the catalog declares of datasets, as the ledger keeps it; unknown ones are left out."""
    found = {dataset: declared_of(catalog, dataset) for dataset in datasets}
    return {dataset: declared for dataset, declared in found.items() if declared is not None}


def open_from_catalog(
    catalog: Catalog, name: str, *, ledger: Ledger | None = None
) -> AccountDefinition:
    """Open an account in the ledger as the catalog plans it, and say what was opened.

    Raises:
        AccountExists: it is open already, or another account pays for one of its datasets.
        SourceKnown: another account has paid for the rows of one of them under another name.
        TargetOutOfReach: what is planned loses more than the target.
    """
    definition = definition_of(catalog, name)
    declared = declared_for(catalog, definition.datasets)
    if ledger is not None:
        return ledger.open_account(definition, declared=declared).definition
    with Ledger(catalog.ledger_address()) as opened:
        return opened.open_account(definition, declared=declared).definition


def _policy(catalog: Catalog, planned: AccountPlan) -> Open | Planned | Dashboard:
    if planned.blocks is not None:
        dates = dated_by(catalog, planned.datasets)
        return Blocked(**asdict(planned.blocks), expected=_releases(planned.expected), dates=dates)
    if planned.policy == "planned":
        return Planned(releases={dataset: _releases(texts) for dataset, texts in planned.plan})
    if planned.policy == "dashboard":
        return Dashboard(queries=_queries(catalog, planned))
    return Open(expected=_releases(planned.expected))


def _releases(texts: tuple[str, ...]) -> tuple[Release, ...]:
    return tuple(release for text in texts for release in parse_releases(text))


def _queries(catalog: Catalog, planned: AccountPlan) -> dict[str, tuple[str, tuple[Release, ...]]]:
    found: dict[str, tuple[str, tuple[Release, ...]]] = {}
    for query in planned.queries:
        budget = Budget(epsilon=query.epsilon, rho=query.rho, delta=query.delta or None)
        asked = price_question(
            plan_question(query.sql, catalog), budget, catalog, delta=planned.delta
        )
        found[asked.fingerprint] = (asked.dataset, asked.releases)
    return found


def _membership(catalog: Catalog, planned: AccountPlan) -> Fact | None:
    """The facts, where they speak of the account's datasets and no others.

    Whoever is in exactly one of three datasets may be in none of two of them: facts about more
    than the account covers are not true of its part. To know nothing is always safe.
    """
    return catalog.membership if set(planned.datasets) == set(catalog.datasets) else None
