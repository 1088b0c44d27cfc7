"""Answers that the ledger keeps: given again word for word, at no cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from quaestor.curator.answers.answer import Answer

if TYPE_CHECKING:
    from quaestor.curator.inquiry import Inquiry
    from quaestor.curator.pricing.priced_compound import AnyPriced
    from quaestor.ledger import Account, StoredAnswer

__all__ = ["given_before", "kept_answer", "repeated_answer"]


def given_before(account: Account, asked: AnyPriced, inquiry: Inquiry) -> Answer | None:
    """The stored answer to the same question, word for word; it costs nothing."""
    stored = account.answer(
        asked.fingerprint,
        dataset=asked.dataset,
        analyst=inquiry.analyst,
        member_of=inquiry.member_of,
        blocks=asked.blocks,
    )
    return None if stored is None else repeated_answer(stored, account)


def kept_answer(
    account: Account, entry: int, *, analyst: str, member_of: tuple[str, ...]
) -> Answer | None:
    """The stored answer of one entry, for somebody who may see it; None for others."""
    stored = account.answer_of(entry, analyst=analyst, member_of=member_of)
    return None if stored is None else repeated_answer(stored, account)


def repeated_answer(stored: StoredAnswer, account: Account) -> Answer:
    """A stored answer; where the data were refreshed, it says which version it is of."""
    answer = replace(Answer.from_json(stored.text), repeated=True, entry=stored.entry)
    versions = account.data_versions(answer.dataset)
    if not versions:
        return answer
    first, last = versions[0].label, versions[-1].label
    of = f"data version {stored.version}" if stored.version else f"the data before version {first}"
    note = f"This answer is of {of}"
    if stored.version != last:
        note += f"; the data are now at version {last}. Asking again with --anew costs again"
    return replace(answer, notes=(*answer.notes, f"{note}."))
