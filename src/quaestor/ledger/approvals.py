"""Approval: a question is submitted, approved by somebody else, and then asked, once.

Submissions and decisions are events of the account's chain. A submission is known by the first
digits of its event's hash: a number that counted them would tell how many others have made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.errors import ApprovalNeeded, InvalidParameter
from quaestor.ledger import stored_text as texts
from quaestor.ledger.journal.appender import write
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.journal.appender import Journal
    from quaestor.ledger.price import Request
    from quaestor.ledger.store.base import Session, Store

__all__ = ["Submission", "check_approval", "decide", "read_submissions", "submission", "submit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What somebody would like to ask, and what was decided about it."""

    id: str
    status: str
    """``submitted``, ``approved``, ``declined`` or ``used``."""
    time: str
    analyst: str
    """Who has submitted it, and may ask it."""
    dataset: str
    purpose: str
    query: str
    """The question's fingerprint."""
    releases: tuple[Release, ...]
    decided_by: str = ""
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            name: [str(release) for release in self.releases]
            if name == "releases"
            else getattr(self, name)
            for name in Submission.__dataclass_fields__
        }


def read_submissions(session: Session, account: str, *, id_: str = "") -> tuple[Submission, ...]:
    """Everything that was submitted, or one of it, with what became of it; in its order."""
    found: dict[str, dict[str, Any]] = {}
    for row in session.rows(sql.SUBMISSIONS, account=account, id=id_):
        kind, time, analyst, dataset, purpose, query, releases, detail, digest = row
        if kind == "submitted":
            found[texts.short_digest(digest)] = {
                "status": kind,
                "time": time,
                "analyst": analyst,
                "dataset": dataset,
                "purpose": purpose,
                "query": query,
                "releases": texts.releases_from_text(releases),
            }
        elif detail in found and kind == "reserved":
            found[detail]["status"] = "used"
        elif detail in found:
            found[detail] |= {"status": kind, "decided_by": analyst, "reason": purpose}
    return tuple(Submission(id=each, **said) for each, said in found.items())


def submission(session: Session, account: str, id_: str) -> Submission:
    """What was submitted under this id, or an error that says that nothing was."""
    found = read_submissions(session, account, id_=texts.name("approval", id_))
    if len(found) != 1:
        raise ApprovalNeeded(account, problem=f"nothing was submitted as {id_!r}")
    return found[0]


def submit(store: Store, definition: AccountDefinition, request: Request) -> str:
    """Write down what somebody would like to ask; it costs nothing. Its id."""
    account = definition.name
    texts.name("analyst", request.analyst)
    if not request.query:
        valid = "given, so that what was approved is what is asked"
        raise InvalidParameter("query", request.query, valid)
    if definition.approval is None:
        raise InvalidParameter("account", account, "one that demands approval")

    def work(journal: Journal) -> str:
        journal.refuse_if_closed(closes=definition.closes)
        journal.append(
            "submitted",
            analyst=request.analyst,
            dataset=request.dataset,
            purpose=request.purpose,
            query=request.query,
            releases=texts.releases_to_text(request.releases),
        )
        return texts.short_digest(journal.state.head)

    made: str = write(store, account, work)
    return made


def decide(  # noqa: PLR0913  # what a decision says
    store: Store, definition: AccountDefinition, id_: str, *, by: str, reason: str, approve: bool
) -> None:
    """Approve or decline what somebody else has submitted: once, and for good.

    Raises:
        ApprovalNeeded: there is no such submission, it is decided already, or it is one's own.
        AccountClosed: nothing can be asked of the account any more.
    """
    account, decider = definition.name, texts.name("by", by)
    said = texts.line("reason", reason)

    def work(journal: Journal) -> None:
        if approve:
            journal.refuse_if_closed(closes=definition.closes)
        found = submission(journal.session, account, id_)
        if found.status != "submitted":
            raise ApprovalNeeded(account, problem=f"submission {id_} is {found.status} already")
        if _same(decider, found.analyst):
            problem = f"submission {id_} is {decider}'s own: somebody else must decide about it"
            raise ApprovalNeeded(account, problem=problem)
        kind = "approved" if approve else "declined"
        journal.append(kind, analyst=decider, purpose=said, detail=id_)

    write(store, account, work)


def _same(one: str, other: str) -> bool:
    """Whether two names can be one person's."""
    return one.casefold() == other.casefold()


def check_approval(session: Session, definition: AccountDefinition, request: Request) -> None:
    """See, under the account's lock, that a charge was approved as it is, and not used before.

    Raises:
        ApprovalNeeded: it was not; nothing was charged.
    """
    account = definition.name
    if not request.approval:
        if definition.needs_approval(request.releases):
            raise ApprovalNeeded(account, problem="this needs approval")
        return
    found = submission(session, account, request.approval)
    if found.status != "approved":
        raise ApprovalNeeded(account, problem=f"submission {found.id} is {found.status}")
    asked = (request.analyst, request.dataset, request.query, request.purpose)
    approved = (found.analyst, found.dataset, found.query, found.purpose)
    if asked != approved or request.releases != found.releases:
        problem = f"submission {found.id} was approved for another request than this"
        raise ApprovalNeeded(account, problem=problem)
