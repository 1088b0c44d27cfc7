"""Every family of pages."""

from __future__ import annotations

from quaestor.service.pages import (
    accountant,
    answers,
    approvals,
    ask,
    budget,
    datasets,
    home,
    ledger,
    people,
    several,
    static_files,
)

__all__ = ["PAGES"]

PAGES = (
    static_files.routes,
    home.routes,
    ask.routes,
    several.routes,
    several.answers,
    answers.routes,
    budget.routes,
    datasets.routes,
    approvals.routes,
    ledger.routes,
    people.people,
    people.tokens,
    accountant.routes,
)
"""Every family of pages, the sign-in aside, which is with its routes."""
