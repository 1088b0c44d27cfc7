"""Approval: a question or a plan is submitted, approved by somebody else, and then asked, once.

Submissions and decisions are events of the account's chain. A submission is known by the first
digits of its event's hash: a number that counted them would tell how many others have made.

A plan is several questions that are submitted and decided about together. Each of them is an event
like any other submission, next to each other in one transaction, and so are the decisions; the plan
is known by the digits of its last question, whose hash stands for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quaestor.errors import ApprovalNeeded, InvalidParameter
from quaestor.ledger import stored_text as texts
from quaestor.ledger.journal.appender import write
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.releases import Release
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.journal.appender import Journal
    from quaestor.ledger.price import Request
    from quaestor.ledger.store.base import Session, Store

__all__ = [
    "Proposal",
    "Submission",
    "check_approval",
    "decide",
    "read_submissions",
    "submission",
    "submit",
]

_MOST_QUESTIONS = 500
_LAST = 2**62  # beyond the last event of any chain


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One question of a plan; its fields are parameters of :meth:`Account.reserve`.

    >>> from quaestor import PureDP
    >>> Proposal(releases=PureDP(epsilon=0.25), purpose="a first look").purpose
    'a first look'
    """

    releases: Sequence[Release] | Release
    dataset: str | None = None
    purpose: str = ""
    query: str = ""
    query_text: str | None = None
    blocks: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What somebody would like to ask, and what was decided about it: a question, or a plan.

    >>> from quaestor import PureDP
    >>> asked = Submission(
    ...     id="1", status="submitted", time="2026-01-01T00:00:00Z", analyst="ann",
    ...     dataset="visits", purpose="", query="", releases=(PureDP(epsilon=0.25),),
    ... )
    >>> asked.status, asked.decided_by
    ('submitted', '')
    """

    id: str
    status: str
    """``submitted``, ``approved``, ``declined`` or ``used``; a plan is used when all of it is."""
    time: str
    analyst: str
    """Who has submitted it, and may ask it."""
    dataset: str
    purpose: str
    query: str
    """The question's fingerprint; empty for a plan."""
    releases: tuple[Release, ...]
    """What is released; by a plan, in all."""
    decided_by: str = ""
    reason: str = ""
    blocks: tuple[str, ...] = ()
    """The blocks of time that it reaches, where the account has a budget for each."""
    plan: str = ""
    """The id of the plan that it is a question of, if it is."""
    questions: tuple[Submission, ...] = ()
    """The questions of a plan, each with its own status, in their order."""

    @property
    def used(self) -> int:
        """How many of its questions were asked."""
        return sum(each.status == "used" for each in self.questions or (self,))

    def question(self, request: Request) -> Submission | None:
        """The question that a request is, if it is one of those that were submitted.

        What for need not be said again; if it is, it must be the same.
        """
        for each in self.questions or (self,):
            same = (each.analyst, each.dataset, each.query, each.blocks, each.releases) == (
                request.analyst,
                request.dataset,
                request.query,
                request.blocks,
                request.releases,
            )
            if same and request.purpose in ("", each.purpose):
                return each
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; of blocks and plans it speaks only where there are any."""
        plain: dict[str, Any] = {
            name: [str(release) for release in self.releases]
            if name == "releases"
            else getattr(self, name)
            for name in Submission.__dataclass_fields__
        }
        for name in ("blocks", "plan", "questions"):
            if not plain[name]:
                del plain[name]
        if self.blocks:
            plain["blocks"] = list(self.blocks)
        if self.questions:
            plain["questions"] = [each.to_dict() for each in self.questions]
        return plain


def read_submissions(session: Session, account: str, *, id_: str = "") -> tuple[Submission, ...]:
    """Everything that was submitted, or one of it, with what became of it; in its order."""
    first, last = (1, _LAST) if not id_ else _around(session, account, id_)
    found: dict[str, dict[str, Any]] = {}
    places: dict[str, texts.PlanPlace] = {}
    for row in session.rows(sql.SUBMISSIONS, account=account, first=first, last=last):
        kind, time, analyst, dataset, purpose, query, releases, detail, digest = row
        said, blocks = texts.parts_of(detail)
        if kind == "submitted":
            id_ = texts.short_digest(digest)
            places[id_] = texts.place_in_plan(said)
            found[id_] = {
                "status": kind,
                "time": time,
                "analyst": analyst,
                "dataset": dataset,
                "purpose": purpose,
                "query": query,
                "releases": texts.releases_from_text(releases),
                "blocks": blocks,
            }
        elif said in found and kind == "reserved":
            found[said]["status"] = "used"
        elif said in found:
            found[said] |= {"status": kind, "decided_by": analyst, "reason": purpose}
    listed: list[Submission] = []
    plan: list[Submission] = []
    for each, said_of in found.items():
        plan.append(Submission(id=each, **said_of))
        if places[each].is_last:
            listed.append(plan[0] if len(plan) == 1 else _plan(plan))
            plan = []
    return tuple(listed)


def _around(session: Session, account: str, id_: str) -> tuple[int, int]:
    """Where in the chain the questions are that were submitted together with one."""
    row = session.row(sql.SUBMITTED, account=account, id=id_)
    if row is None:
        return 0, 0
    seq, detail = row
    place = texts.place_in_plan(texts.parts_of(detail)[0])
    return seq - place.number + 1, seq - place.number + place.total


def _plan(questions: list[Submission]) -> Submission:
    """Several questions as one submission."""
    last = questions[-1]
    statuses = [each.status for each in questions]
    parted = "declined" if "declined" in statuses else "approved"
    listed = tuple(replace(each, plan=last.id) for each in questions)
    purposes = tuple(dict.fromkeys(each.purpose for each in questions))
    return replace(
        last,
        status=last.status if len(set(statuses)) == 1 else parted,
        dataset=", ".join(dict.fromkeys(each.dataset for each in questions)),
        purpose=purposes[0] if len(purposes) == 1 else "",
        query="",
        releases=tuple(release for each in questions for release in each.releases),
        blocks=tuple(sorted({block for each in questions for block in each.blocks})),
        questions=listed,
    )


def submission(session: Session, account: str, id_: str) -> Submission:
    """What was submitted under this id, or an error that says that nothing was."""
    found = read_submissions(session, account, id_=texts.name("approval", id_))
    for each in (*found, *(question for plan in found for question in plan.questions)):
        if each.id == id_:
            return each
    raise ApprovalNeeded(
        account,
        problem=f"there is no submission {id_!r}",
        remedy=f"list the submissions with  quaestor account approvals {account}",
    )


def submit(store: Store, definition: AccountDefinition, requests: Sequence[Request]) -> str:
    """Write down what somebody would like to ask, together; it costs nothing. Its id."""
    account = definition.name
    if not 0 < len(requests) <= _MOST_QUESTIONS:
        valid = f"a list of 1 to {_MOST_QUESTIONS} questions"
        raise InvalidParameter("questions", len(requests), valid)
    seen: set[object] = set()
    for request in requests:
        texts.name("analyst", request.analyst)
        if not request.query:
            valid = "given, so that the approved question is the one that is asked"
            raise InvalidParameter("query", request.query, valid)
        asked = (request.dataset, request.query, request.blocks, request.releases)
        if asked in seen:
            valid = "different from the earlier ones: each question of a plan is asked once"
            raise InvalidParameter("questions", f"question {len(seen) + 1}", valid)
        seen.add(asked)
    if definition.approval is None:
        raise InvalidParameter(
            "account",
            account,
            (
                "an account that requires approval (account open --approval); with this one, "
                "ask directly"
            ),
        )

    def work(journal: Journal) -> str:
        journal.refuse_if_closed(closes=definition.closes)
        for number, request in enumerate(requests, start=1):
            place = texts.PlanPlace(number, len(requests))
            journal.append(
                "submitted",
                analyst=request.analyst,
                dataset=request.dataset,
                purpose=request.purpose,
                query=request.query,
                releases=texts.releases_to_text(request.releases),
                detail=texts.detail_of(place.text, request.blocks),
            )
        return texts.short_digest(journal.state.head)

    made: str = write(store, account, work)
    return made


def decide(  # noqa: PLR0913  # what a decision says
    store: Store, definition: AccountDefinition, id_: str, *, by: str, reason: str, approve: bool
) -> None:
    """Approve or decline what somebody else has submitted: once, as a whole, and for good.

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
        if found.plan and not found.questions:
            raise ApprovalNeeded(
                account,
                problem=f"{id_} is one question of plan {found.plan}",
                remedy=f"a plan is approved or declined as a whole: give {found.plan} instead",
            )
        if found.status != "submitted":
            raise ApprovalNeeded(
                account,
                problem=f"submission {id_} is {found.status} already",
                remedy="a decision is final; if it was wrong, have it submitted again",
            )
        if _same(decider, found.analyst):
            raise ApprovalNeeded(
                account,
                problem=f"submission {id_} is {decider}'s own: another person must decide about it",
                remedy="ask them to run  quaestor account approve  with their own name as --by",
            )
        kind = "approved" if approve else "declined"
        for each in found.questions or (found,):
            journal.append(kind, analyst=decider, purpose=said, detail=each.id)

    write(store, account, work)


def _same(one: str, other: str) -> bool:
    """Whether two names can be one person's."""
    return one.casefold() == other.casefold()


_AS_APPROVED = "ask exactly what was approved, or submit this as well (quaestor account submit)"
_FURTHER = {
    "submitted": "have another person approve it (quaestor account approve)",
    "declined": (
        "a decision is final; talk to the person who decided, or submit a different question"
    ),
    "used": (
        "asking again for a released answer is free and needs no --approval; to pay "
        "for a new answer, submit it again"
    ),
}


def check_approval(session: Session, definition: AccountDefinition, request: Request) -> None:
    """See, under the account's lock, that a charge was approved as it is, and not used before.

    Raises:
        ApprovalNeeded: it was not; nothing was charged.
    """
    account = definition.name
    if not request.approval:
        if definition.needs_approval(request.releases):
            raise ApprovalNeeded(
                account, problem="it requires approval, and this question has none"
            )
        return
    found = submission(session, account, request.approval)
    asked, known_as = found.question(request), found.plan or found.id
    if asked is None or asked.purpose != request.purpose:
        problem = f"submission {known_as} was approved for a different request"
        raise ApprovalNeeded(account, problem=problem, remedy=_other(found, request))
    if asked.id != request.approval:
        raise ApprovalNeeded(
            account, problem="another question of the plan was approved under this ID"
        )
    if asked.status != "approved":
        whole = "this question of plan" if asked.plan and asked.status == "used" else "submission"
        problem = f"{whole} {known_as} is {asked.status}"
        raise ApprovalNeeded(account, problem=problem, remedy=_FURTHER[asked.status])


def _other(found: Submission, request: Request) -> str:
    """What to do where a request is not what was approved."""
    if found.questions or found.blocks == request.blocks:
        return _AS_APPROVED
    approved = texts.shown_blocks(found.blocks)
    return (
        f"it was approved for {approved or 'no block'}, and this reaches "
        f"{texts.shown_blocks(request.blocks) or 'none'}: ask about {approved} alone, or submit "
        "it again (quaestor account submit)"
    )
