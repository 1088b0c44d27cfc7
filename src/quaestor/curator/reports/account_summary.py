"""An account in one line of a list: what it is, and how it stands where least is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.ledger.amounts import above

if TYPE_CHECKING:
    from quaestor.ledger import Account, AccountDefinition
    from quaestor.ledger.totals.standing import HolderStanding

__all__ = ["AccountSummary", "summary_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSummary:
    """What a list of accounts says of one of them."""

    definition: AccountDefinition
    closed: bool
    problem: str | None
    least: HolderStanding
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
            "used": above(self.least.used),
            "entries": self.entries,
        }


def summary_of(account: Account) -> AccountSummary:
    """Read it."""
    state = account.state()
    return AccountSummary(
        definition=account.definition,
        closed=account.is_closed(),
        problem=account.problem(),
        least=account.least_left(),
        entries=state.entries,
    )
