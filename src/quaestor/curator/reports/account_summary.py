"""An account in one line of a list: what it is, and how much of it is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.ledger.standing import used_of
from quaestor.ledger.totals.amounts import above

if TYPE_CHECKING:
    from fractions import Fraction

    from quaestor.ledger import Account, AccountDefinition

__all__ = ["AccountSummary", "summary_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSummary:
    """What a list of accounts says of one of them."""

    definition: AccountDefinition
    closed: bool
    problem: str | None
    used: Fraction
    entries: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        definition = self.definition
        return {
            "account": definition.name,
            "status": "closed" if self.closed else "open",
            "problem": self.problem,
            "policy": definition.policy.kind,
            "epsilon": definition.epsilon,
            "delta": definition.delta,
            "datasets": list(definition.datasets),
            "used": above(self.used),
            "entries": self.entries,
        }


def summary_of(account: Account) -> AccountSummary:
    """Read it."""
    state = account.state()
    return AccountSummary(
        definition=account.definition,
        closed=bool(state.closed),
        problem=account.problem(),
        used=used_of(account),
        entries=state.entries,
    )
