"""The ledger: accounts whose budgets survive crashes, races and clever analysts.

::

    with Ledger("ledger.db") as ledger:
        account = ledger.open_account(
            AccountDefinition(name="trial", epsilon=1.0, delta=1e-6, datasets=("patients",))
        )
        with account.reserve(PureDP(epsilon=0.1), analyst="ann", purpose="weekly report") as charge:
            charge.drawing()
            charge.release("42")

A charge is durable before anything runs, and what does not fit is refused.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quaestor.ledger.account import Account, StoredAnswer
    from quaestor.ledger.accounts import Ledger
    from quaestor.ledger.approvals import Proposal, Submission
    from quaestor.ledger.backup import backup_ledger, restore_ledger
    from quaestor.ledger.charge import Charge
    from quaestor.ledger.definition import AccountDefinition, Quota, Share, planned_epsilon
    from quaestor.ledger.group_quotas import GroupQuota
    from quaestor.ledger.jobs import Pending
    from quaestor.ledger.journal.data_versions import DataVersion
    from quaestor.ledger.journal.declarations import DatasetDigests, RecordedDeclaration
    from quaestor.ledger.journal.entries import Entry
    from quaestor.ledger.journal.verification import Verification
    from quaestor.ledger.people.credentials import Credential
    from quaestor.ledger.people.identities import ProviderIdentity, identity_to_link
    from quaestor.ledger.people.person import ROLES, Person
    from quaestor.ledger.people.registry import Identified, People
    from quaestor.ledger.people.trail import TrailEvent
    from quaestor.ledger.policies.blocks import Blocked
    from quaestor.ledger.policies.dashboard import Dashboard
    from quaestor.ledger.policies.open import Open
    from quaestor.ledger.policies.planned import Planned
    from quaestor.ledger.price import Balance, Price, Reading
    from quaestor.ledger.question_jobs import QuestionJob, QuestionJobs
    from quaestor.ledger.stored_text import query_digest
    from quaestor.ledger.successors import Together
    from quaestor.ledger.totals.balance_history import BalanceHistory, BalancePoint, thinned
    from quaestor.ledger.totals.odometer import OdometerReading
    from quaestor.ledger.totals.standing import HolderStanding, MeterStanding, Standing

__all__ = [
    "ROLES",
    "Account",
    "AccountDefinition",
    "Balance",
    "BalanceHistory",
    "BalancePoint",
    "Blocked",
    "Charge",
    "Credential",
    "Dashboard",
    "DataVersion",
    "DatasetDigests",
    "Entry",
    "GroupQuota",
    "HolderStanding",
    "Identified",
    "Ledger",
    "MeterStanding",
    "OdometerReading",
    "Open",
    "Pending",
    "People",
    "Person",
    "Planned",
    "Price",
    "Proposal",
    "ProviderIdentity",
    "QuestionJob",
    "QuestionJobs",
    "Quota",
    "Reading",
    "RecordedDeclaration",
    "Share",
    "Standing",
    "StoredAnswer",
    "Submission",
    "Together",
    "TrailEvent",
    "Verification",
    "backup_ledger",
    "identity_to_link",
    "planned_epsilon",
    "query_digest",
    "restore_ledger",
    "thinned",
]

_HOMES = {
    "ROLES": "people.person",
    "Account": "account",
    "AccountDefinition": "definition",
    "Balance": "price",
    "BalanceHistory": "totals.balance_history",
    "BalancePoint": "totals.balance_history",
    "Blocked": "policies.blocks",
    "Charge": "charge",
    "Credential": "people.credentials",
    "Dashboard": "policies.dashboard",
    "DataVersion": "journal.data_versions",
    "DatasetDigests": "journal.declarations",
    "Entry": "journal.entries",
    "GroupQuota": "group_quotas",
    "HolderStanding": "totals.standing",
    "Identified": "people.registry",
    "Ledger": "accounts",
    "MeterStanding": "totals.standing",
    "OdometerReading": "totals.odometer",
    "Open": "policies.open",
    "Pending": "jobs",
    "People": "people.registry",
    "Person": "people.person",
    "Planned": "policies.planned",
    "Price": "price",
    "Proposal": "approvals",
    "ProviderIdentity": "people.identities",
    "QuestionJob": "question_jobs",
    "QuestionJobs": "question_jobs",
    "Quota": "definition",
    "Reading": "price",
    "RecordedDeclaration": "journal.declarations",
    "Share": "definition",
    "Standing": "totals.standing",
    "StoredAnswer": "account",
    "Submission": "approvals",
    "Together": "successors",
    "TrailEvent": "people.trail",
    "Verification": "journal.verification",
    "backup_ledger": "backup",
    "identity_to_link": "people.identities",
    "planned_epsilon": "definition",
    "query_digest": "stored_text",
    "restore_ledger": "backup",
    "thinned": "totals.balance_history",
}


def __getattr__(name: str) -> Any:
    """Bring a public name when it is first used: a question needs few of them."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
