"""Checking an account: its chain, and everything beside the chain that must follow from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from quaestor.errors import InvalidParameter, LedgerCorrupted, UnknownAccount
from quaestor.ledger import stored_text as texts
from quaestor.ledger.account_limits import EVERYBODY, AccountLimits, Balances
from quaestor.ledger.definition import AccountDefinition, plan_problem
from quaestor.ledger.journal.appender import State, read_balances
from quaestor.ledger.journal.chain import Chain, Charged
from quaestor.ledger.journal.events import Event, opened_by
from quaestor.ledger.price import Request
from quaestor.ledger.store import statements as sql
from quaestor.ledger.successors import predecessors
from quaestor.ledger.theory import PRICING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.ledger.store.base import Session

__all__ = ["Verification", "verify_account"]

_PAGE = 2000
_LAST_BITS = Fraction(1, 2**40)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """An account that holds together. Note its ``head`` elsewhere: it stands for all before it.

    >>> Verification(account="trial", events=3, entries=1, head="ab" * 32).problem is None
    True
    """

    account: str
    events: int
    entries: int
    head: str
    problem: str | None = None
    """Why it takes no further charges: by today's prices or theorems it promised too much."""


def verify_account(
    session: Session, account: str, *, head: str | Sequence[str] | None = None
) -> Verification:
    """Recompute everything from the events; the first place that differs is the error."""
    found = session.row(sql.DEFINITION, name=account)
    if found is None:
        raise UnknownAccount(account, near=None)
    row = session.row(sql.STATE, account=account)
    chain = _chain(session, account)
    place = f"account {account!r}"
    noted = [head] if isinstance(head, str) else head or ()
    if any(each not in chain.heads for each in noted):
        raise LedgerCorrupted(
            place,
            "the recorded head is not in its chain: events were removed or rewritten",
        )
    if found[0] != chain.definition:
        raise LedgerCorrupted(place, "its definition differs from the one it was opened with")
    if chain.unfinished:
        raise LedgerCorrupted(place, "its chain ends in the middle of a plan")
    state = None if row is None else State(*row)
    outdated = state is not None and 0 < state.pricing < PRICING  # priced again when next used
    _check_state(state, chain, place, pricing=state.pricing if state and outdated else PRICING)
    limits = AccountLimits(_definition(chain.definition, account))
    for _ in predecessors(session, limits.definition):
        pass  # all of them must be there
    priced = _priced(limits, chain)
    if not outdated:
        priced = _check_totals(session, limits, priced)
    _check_answers(session, chain, account)
    _check_jobs(session, chain, account)
    return Verification(
        account=account,
        events=chain.events,
        entries=chain.entries,
        head=chain.head,
        problem=_problem(limits, chain, priced),
    )


def _chain(session: Session, account: str) -> Chain:
    chain, after = Chain(account), 0
    while True:
        rows = session.rows(sql.EVENTS, account=account, after=after, page=_PAGE)
        for row in rows:
            chain.add(Event(*row))
        if len(rows) < _PAGE:
            return chain
        after = chain.events


def _check_state(state: State | None, chain: Chain, place: str, *, pricing: int) -> None:
    expected = State(
        events=chain.events,
        entries=chain.entries,
        time=chain.time,
        head=chain.head,
        closed=int(chain.closed),
        pricing=pricing,
    )
    for name in State.__dataclass_fields__:
        if getattr(state, name, None) != getattr(expected, name):
            raise LedgerCorrupted(place, f"its {name} does not match its events")


def _definition(text: str, account: str) -> AccountDefinition:
    try:
        definition = AccountDefinition.from_json(text)
    except InvalidParameter:
        raise LedgerCorrupted(f"account {account!r}", "it has no valid definition") from None
    if definition.name != account:
        raise LedgerCorrupted(f"account {account!r}", "its definition belongs to another account")
    return definition


def _priced(limits: AccountLimits, chain: Chain) -> Balances:
    """What the entries add up to by today's prices."""
    history: Counter[Charged] = Counter()
    by_query = limits.definition.policy.by_query
    kept = +chain.charged  # without what was given back: on some meters it has no cost to cancel
    for charged, count in kept.items():
        history[charged if by_query else charged._replace(query="")] += count
    try:
        return limits.totals(
            (
                Request(
                    releases=texts.releases_from_text(each.releases),
                    dataset=each.dataset,
                    analyst=each.analyst,
                    query=each.query,
                    realised=each.realised,
                    blocks=each.blocks,
                ),
                count,
            )
            for each, count in history.items()
        )
    except (InvalidParameter, KeyError, TypeError, ValueError):
        place = f"the entries of account {limits.definition.name!r}"
        raise LedgerCorrupted(
            place, "some of them cannot have been charged to this account"
        ) from None


def _check_totals(session: Session, limits: AccountLimits, priced: Balances) -> Balances:
    """The stored totals, which must be what the entries add up to."""
    account = limits.definition.name
    rows = session.rows(sql.BALANCES, account=account)
    stored = {p: t for p, t in read_balances(rows, account=account).items() if t}
    if not _agree(stored, priced):
        raise LedgerCorrupted(
            f"the totals of account {account!r}", "they do not match the sum of its entries"
        )
    return stored


def _problem(limits: AccountLimits, chain: Chain, priced: Balances) -> str | None:
    """What was promised, or charged, too much by the prices and theorems of an earlier version.

    An account that was opened under today's prices has never been able to charge too much.
    """
    earlier = chain.opened != opened_by(PRICING)
    holder = limits.beyond(priced)
    if holder is not None and not earlier:
        whose = "it allows" if holder == EVERYBODY else f"the quota of {holder.strip()!r} allows"
        place = f"account {limits.definition.name!r}"
        raise LedgerCorrupted(place, f"more was charged than {whose}")
    broken = plan_problem(limits.definition) if earlier else None
    return broken or limits.overdrawn(priced)


def _agree(stored: Balances, priced: Balances) -> bool:
    """Whether totals are the same, up to what processors may differ in.

    Moments are computed in floating point and rounded up. Elementary functions differ in the last
    bits from one processor to the next: both figures are upper bounds, and a ledger that was
    charged on one machine verifies on another. All other meters are exact.
    """
    if stored.keys() != priced.keys():
        return False
    for place, totals in stored.items():
        others = priced[place]
        if totals.keys() != others.keys():
            return False
        for meter, total in totals.items():
            other = others[meter]
            if total == other:
                continue
            if total is None or other is None or ":moment" not in meter:
                return False
            if abs(total - other) > _LAST_BITS * max(total, other):
                return False
    return True


def _check_answers(session: Session, chain: Chain, account: str) -> None:
    missing, after = dict(chain.answers), 0
    while True:
        rows = session.rows(sql.ANSWERS, account=account, after=after, page=_PAGE)
        for entry, *labels, answer in rows:
            place = f"the answer of entry {entry} of account {account!r}"
            expected = missing.pop(entry, None)
            if expected is None:
                raise LedgerCorrupted(place, "its entry has no released answer")
            if (*labels, _digest(answer)) != expected:
                raise LedgerCorrupted(place, "it differs from the answer that was released")
            after = entry
        if len(rows) < _PAGE:
            break
    for entry in missing:
        place = f"the answer of entry {entry} of account {account!r}"
        raise LedgerCorrupted(place, "it is missing")


def _check_jobs(session: Session, chain: Chain, account: str) -> None:
    """Jobs belong to entries. What they say decides who waits, and never what may be drawn."""
    after = 0
    while rows := session.rows(sql.JOBS, account=account, after=after, page=_PAGE):
        for entry, attempt in rows:
            if entry > chain.entries or not isinstance(attempt, int) or attempt < 1:
                place = f"the job of entry {entry} of account {account!r}"
                raise LedgerCorrupted(place, "there is no such charge")
        after = rows[-1][0]


def _digest(answer: Any) -> str:
    return texts.digest(answer) if isinstance(answer, str) else ""
