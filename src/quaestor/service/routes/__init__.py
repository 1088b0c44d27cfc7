"""The routes of a service, one family a file."""

from __future__ import annotations

from quaestor.service.routes import (
    accountant,
    accounts,
    approvals,
    batches,
    datasets,
    health,
    jobs,
    ledger,
    oidc,
    people,
    questions,
    sign_in,
    tokens,
)

__all__ = ["FAMILIES"]

FAMILIES = (
    health.routes,
    sign_in.routes,
    sign_in.pages,
    oidc.pages,
    datasets.routes,
    questions.routes,
    batches.routes,
    jobs.routes,
    accounts.routes,
    approvals.routes,
    ledger.routes,
    accountant.routes,
    people.routes,
    tokens.routes,
)
"""Every family there is."""
