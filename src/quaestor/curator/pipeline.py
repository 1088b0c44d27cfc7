"""The way of a question: parse, plan, price, reserve, measure, draw, settle. Nothing flows back.

What is wrong before the reservation costs nothing and touches no data. The charge is durable before
the engine reads a row. Whatever fails once a statement was sent leaves it in place and looks the
same: an error that told more could tell of somebody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from quaestor.curator.answers.answer import Answer
from quaestor.curator.answers.outputs import answer_of
from quaestor.curator.kernel.dated_rows import ChargedBlocks
from quaestor.curator.pricing.priced_question import plan, price
from quaestor.curator.pricing.would_fit import refusal
from quaestor.curator.questions.block_reach import charged_blocks
from quaestor.curator.questions.plan import describe
from quaestor.errors import (
    AccountOverdrawn,
    BudgetExceeded,
    ChargeSettled,
    EngineFailed,
    RefusedQuery,
)
from quaestor.ledger import StoredAnswer
from quaestor.ledger.amounts import below

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.builder.tables import Question
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.engines import Engine
    from quaestor.curator.engines.engine import EnginePool
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.priced_question import Budget, Cost, Priced
    from quaestor.errors import QuaestorError
    from quaestor.ledger import Account, Charge
    from quaestor.ledger.price import Request

    Progress = Callable[[str], None]

__all__ = ["Inquiry", "answered", "given_before", "priced", "submitted"]

_LONGEST_PURPOSE = 500


class Payers(Protocol):
    """Who can pay for questions."""

    def payer(self, name: str | None, *, dataset: str) -> Account:
        """The account of that name or, without one, the only one on the dataset."""

    def declare(self, account: Account, *, dataset: str) -> None:
        """Record what the catalog declares of a dataset, if that has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A question, what it may cost, who asks it and why, and on whose account."""

    question: str | Question
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


def priced(inquiry: Inquiry, *, catalog: Catalog, accounts: Payers) -> tuple[Account, Priced]:
    """Who pays for a question, and how much: no data are touched."""
    question = inquiry.question
    query = plan(question, catalog, rows=inquiry.rows, groups=inquiry.groups)
    payer = accounts.payer(inquiry.account, dataset=query.dataset)
    sql = question if isinstance(question, str) else None
    blocks = _reached(query, catalog, payer)
    delta = payer.definition.delta
    return payer, price(query, inquiry.budget, catalog, delta=delta, sql=sql, blocks=blocks)


def _reached(query: Query, catalog: Catalog, payer: Account) -> ChargedBlocks | None:
    """The blocks of time that pay, where the account has a budget for each."""
    policy = payer.definition.policy
    calendar = policy.calendar if policy.by_blocks else None
    if calendar is None:
        return None
    there = payer.blocks()
    if not there:
        raise RefusedQuery(
            f"no {calendar.every} of account {payer.name!r} has begun",
            remedy=f"ask from {calendar.first} on",
        )
    return charged_blocks(query, catalog, calendar, last=there[-1])


def _paid_blocks(payer: Account, paid: Request) -> ChargedBlocks | None:
    """The blocks that were charged, as the account and the charge themselves have them."""
    policy = payer.definition.policy
    calendar = policy.calendar if policy.by_blocks else None
    if calendar is None:
        return None
    return ChargedBlocks(labels=paid.blocks, **calendar._asdict())


def answered(
    inquiry: Inquiry,
    *,
    catalog: Catalog,
    accounts: Payers,
    engines: EnginePool,
    progress: Progress,
) -> Answer:
    """The answer to a question: the stored one if there is one, or else one that is paid for."""
    payer, asked = priced(inquiry, catalog=catalog, accounts=accounts)
    stored = None if inquiry.anew else given_before(payer, asked, inquiry)
    if stored is not None:
        return stored
    progress("planning")
    engine = engines.prepared(asked.offer.measurement)
    accounts.declare(payer, dataset=asked.query.dataset)
    charge = _reserved(payer, asked, inquiry)
    if isinstance(charge, Answer):
        return charge
    try:
        return _released(charge, payer, asked, engine, progress)
    except Exception:  # noqa: BLE001, S110  # whatever it says may be about somebody
        pass
    engines.forget(engine)
    raise EngineFailed


def _released(
    charge: Charge, payer: Account, asked: Priced, engine: Engine, progress: Progress
) -> Answer:
    """What is drawn for a question that is charged, kept with the charge before it is shown."""
    with charge:
        progress("computing exact figures")
        _reach(engine, charge)
        charge.running()
        prepared, exact = engine.measure(asked.offer.measurement)
        charge.drawing()
        progress("drawing noise")
        paid = charge.request
        blocks = _paid_blocks(payer, paid)
        released = prepared.draw(exact, paid=paid.releases, dataset=paid.dataset, blocks=blocks)
        drawn = answer_of(asked.query, asked.offer, released, sql=asked.sql)
        answer = _signed(drawn, charge, payer, asked.cost)
        charge.release(answer.to_json())
    return answer


def given_before(account: Account, asked: Priced, inquiry: Inquiry) -> Answer | None:
    """The stored answer to the same question, word for word; it costs nothing."""
    stored = account.answer(
        asked.fingerprint,
        dataset=asked.offer.measurement.dataset,
        analyst=inquiry.analyst,
        member_of=inquiry.member_of,
    )
    return None if stored is None else _again(stored, account)


def _again(stored: StoredAnswer, account: Account) -> Answer:
    """A stored answer; where the data were refreshed, it says which version it is of."""
    answer = replace(Answer.from_json(stored.text), repeated=True)
    versions = account.data_versions(answer.dataset)
    if not versions:
        return answer
    first, last = versions[0].label, versions[-1].label
    of = f"data version {stored.version}" if stored.version else f"the data before version {first}"
    note = f"This answer is of {of}"
    if stored.version != last:
        note += f"; the data are of version {last} now. To ask anew costs anew"
    return replace(answer, notes=(*answer.notes, f"{note}."))


def submitted(inquiry: Inquiry, *, catalog: Catalog, accounts: Payers) -> tuple[Account, str]:
    """Ask for approval of a question; the account, and the id to ask it with. It costs nothing."""
    payer, asked = priced(inquiry, catalog=catalog, accounts=accounts)
    return payer, payer.submit(
        asked.releases,
        dataset=asked.offer.measurement.dataset,
        analyst=inquiry.analyst,
        purpose=inquiry.purpose or _purpose(asked),
        query_text=asked.identity,
    )


def _reserved(account: Account, asked: Priced, inquiry: Inquiry) -> Charge | Answer:
    """A durable charge; or the answer, if somebody else who asked the same has brought it.

    Raises:
        BudgetExceeded: it does not fit; nothing was charged, and the error says what would fit.
        EngineFailed: somebody else who asked it at the same time has failed.
    """
    analyst = inquiry.analyst
    charged = account.reserve if inquiry.anew else account.claim
    analyst, approval = inquiry.analyst, inquiry.approval
    # what was approved says why it is asked
    purpose = inquiry.purpose or ("" if approval else _purpose(asked))
    try:
        found = charged(
            asked.releases,
            dataset=asked.offer.measurement.dataset,
            analyst=analyst,
            purpose=purpose,
            query_text=asked.identity,
            blocks=asked.blocks,
            approval=approval,
            audience=inquiry.audience,
            member_of=inquiry.member_of,
        )
    except AccountOverdrawn:
        raise
    except BudgetExceeded as error:
        refused: QuaestorError = refusal(account, asked, analyst=analyst) or error
    except ChargeSettled:
        refused = EngineFailed()
    else:
        return _again(found, account) if isinstance(found, StoredAnswer) else found
    refused.__context__ = None
    raise refused


def _purpose(asked: Priced) -> str:
    """The question in one printable line."""
    words = "".join(c if c.isprintable() else " " for c in describe(asked.query))
    return words[:_LONGEST_PURPOSE]


def _reach(engine: Engine, charge: Charge) -> None:
    """See that the engine answers; if it does not, the charge is given back.

    That decision depends on no row: nothing was sent for this question, and that the engine is
    down is what anybody is told, free of charge, who asks before a charge is made. After an earlier
    attempt it could be the question itself that brought the engine down: then the charge stays.
    """
    try:
        engine.reach()
    except EngineFailed:
        if not charge.repeated:
            charge.void("the engine could not be reached, and no statement was sent")
        raise


def _signed(answer: Answer, charge: Charge, account: Account, cost: Cost) -> Answer:
    """The answer with its cost, its receipt, and what the analyst may see of what is left."""
    analyst, blocks = charge.request.analyst, charge.request.blocks
    if blocks:  # of the one with the least left
        least = account.standing_on(answer.dataset, analyst=analyst, blocks=blocks)
        blocks = (least.block,)
    balances = account.remaining(dataset=answer.dataset, analyst=analyst, blocks=blocks)
    left = [(one.title, below(one.remaining)) for one in balances if one.remaining is not None]
    # others who may see it are told nothing of the quota from which it was paid
    others = bool(charge.request.audience and account.definition.shares)
    return replace(
        answer,
        account=account.name,
        receipt=None if others else charge.receipt,
        epsilon=cost.epsilon,
        delta=cost.delta,
        remaining=() if others else tuple(left),
        data_version=account.version_of(charge.entry, dataset=answer.dataset),
    )
