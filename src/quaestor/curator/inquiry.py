"""A question on its way: what is asked, by whom, for how much, and on whose account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.ledger.charge import PATIENCE

if TYPE_CHECKING:
    from quaestor.curator.builder.tables import AnyQuestion
    from quaestor.curator.pricing.priced_question import Budget
    from quaestor.curator.sql.auto_calls import AutoText

__all__ = ["Inquiry", "auto_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A question, what it may cost, who asks it and why, and on whose account."""

    question: str | AnyQuestion
    budget: Budget
    account: str | None = None
    analyst: str = ""
    purpose: str = ""
    rows: int | None = None
    groups: int | None = None
    anew: bool = False
    """Whether it is to be charged and answered again, though there may be an answer."""
    approval: str = ""
    audience: str = ""
    member_of: tuple[str, ...] = ()
    job: str = ""
    """The id of the question, if it was asked of a service: it is charged once at most."""
    patience: float = PATIENCE
    """How many seconds to wait for somebody else who asks the same."""


def auto_of(inquiry: Inquiry) -> AutoText | None:
    """The question's calls of ``AUTO``, if it is SQL and has some."""
    question = inquiry.question
    if not isinstance(question, str) or "auto" not in question.lower():
        return None
    from quaestor.curator.sql.auto_calls import read_auto  # few questions have any

    return read_auto(question)
