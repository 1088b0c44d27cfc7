"""The way of a question: parse, plan, price, reserve, measure, draw, settle. Nothing flows back.

What is wrong before the reservation costs nothing and touches no data. The charge is durable before
the engine reads a row. Whatever fails once a statement was sent leaves it in place and looks the
same: an error that told more could tell of somebody.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from quaestor.curator.answers.answer import Answer
from quaestor.curator.answers.outputs import answer_of
from quaestor.curator.answers.united_answer import united_answer
from quaestor.curator.engines.stop import refuse_stopped
from quaestor.curator.kernel.dated_rows import ChargedBlocks
from quaestor.curator.language.compound import Compound
from quaestor.curator.pricing.editions import FIRST, LATEST
from quaestor.curator.pricing.known_prices import known_plan, known_price
from quaestor.curator.pricing.priced_compound import PricedCompound, price_compound
from quaestor.curator.pricing.tariffs import tariff_of
from quaestor.curator.pricing.would_fit import refusal
from quaestor.curator.questions.block_reach import charged_blocks
from quaestor.errors import (
    AccountOverdrawn,
    BudgetExceeded,
    ChargeSettled,
    EngineFailed,
    InvalidParameter,
    NotPlanned,
    RefusedQuery,
)
from quaestor.ledger import Proposal, StoredAnswer
from quaestor.ledger.amounts import below
from quaestor.ledger.charge import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from quaestor.curator.builder.tables import AnyQuestion
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.engines import Engine
    from quaestor.curator.engines.engine import EnginePool
    from quaestor.curator.kernel.figures import Exact, Prepared, Released
    from quaestor.curator.kernel.measurement import Measurement
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.priced_compound import AnyPriced
    from quaestor.curator.pricing.priced_question import Budget, Cost
    from quaestor.errors import QuaestorError
    from quaestor.ledger import Account, Charge
    from quaestor.ledger.price import Request

    Progress = Callable[[str], None]

    class PricedBy(Protocol):
        """Prices a question by an edition, with or without its whole error."""

        def __call__(self, edition: int, *, whole: bool) -> AnyPriced: ...


__all__ = [
    "Inquiry",
    "answer_to",
    "answered",
    "given_before",
    "kept_answer",
    "priced",
    "reached_blocks",
    "submitted",
]

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


def priced(inquiry: Inquiry, *, catalog: Catalog, accounts: Payers) -> tuple[Account, AnyPriced]:
    """Who pays for a question, and how much: no data are touched.

    Whoever does not say whether the whole error is wanted pays for it, where questions are chosen
    freely, unless the same question was answered without.
    """
    question = inquiry.question
    query = known_plan(
        question,
        catalog,
        analyst=inquiry.analyst,
        rows=inquiry.rows,
        groups=inquiry.groups,
    )
    payer = accounts.payer(inquiry.account, dataset=query.dataset)
    sql = question if isinstance(question, str) else None
    parts = query.parts if isinstance(query, Compound) else (query,)
    blocks = [reached_blocks(part, catalog, payer) for part in parts]
    delta, tariff = payer.definition.delta, tariff_of(payer.definition)

    def at(edition: int, *, whole: bool) -> AnyPriced:
        budget = replace(inquiry.budget, whole_error=whole)
        if isinstance(query, Compound):
            return price_compound(
                query,
                budget,
                catalog,
                delta=delta,
                sql=sql,
                blocks=blocks,
                edition=edition,
                tariff=tariff,
            )
        said = {
            "delta": delta,
            "sql": sql,
            "blocks": blocks[0],
            "edition": edition,
            "tariff": tariff,
        }
        return known_price(query, budget, catalog, **said)

    return payer, _as_known(payer, inquiry, at).worked_out()


def _as_known(payer: Account, inquiry: Inquiry, at: PricedBy) -> AnyPriced:
    """By the latest edition of pricing, unless the account knows the question by an earlier one.

    With its whole error, where questions are chosen freely, or somebody says so; unless the
    account knows it without.

    It does where it has an answer for this analyst, where that was approved, or where nothing else
    was declared: all of which the analyst may see.
    """
    wanted, freely = inquiry.budget.whole_error, payer.definition.policy.chosen_freely
    wholes = [freely, not freely] if wanted is None else [wanted]
    editions = [at(LATEST, whole=whole) for whole in wholes]
    latest = editions[0]
    editions += [
        at(edition, whole=whole)
        for edition in latest.earlier_editions
        for whole in wholes
        if edition != FIRST or not whole  # which had no whole errors
    ]
    if len(editions) == 1:
        return latest
    if not inquiry.anew:
        for each in editions:
            if given_before(payer, each, inquiry) is not None:
                return each
    if inquiry.approval:
        submissions = payer.approvals(analyst=inquiry.analyst)
        approved = {
            each.query
            for one in submissions
            if one.id == inquiry.approval
            for each in (one, *one.questions)
        }
        return next((each for each in editions if each.fingerprint in approved), latest)
    if payer.definition.policy.chosen_freely:
        return latest
    return next((each for each in editions if _declared(payer, each, inquiry)), latest)


def _declared(payer: Account, asked: AnyPriced, inquiry: Inquiry) -> bool:
    try:
        payer.price(
            asked.releases,
            dataset=asked.dataset,
            analyst=inquiry.analyst,
            query=asked.fingerprint,
            blocks=asked.blocks,
        )
    except NotPlanned:
        return False
    return True


def reached_blocks(query: Query, catalog: Catalog, payer: Account) -> ChargedBlocks | None:
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


def answered(  # noqa: PLR0913  # whom it passes on its way
    inquiry: Inquiry,
    *,
    catalog: Catalog,
    accounts: Payers,
    engines: EnginePool,
    progress: Progress,
    time_step: float = 0.0,
) -> Answer:
    """The answer to a question: the stored one if there is one, or else one that is paid for."""
    payer, asked = priced(inquiry, catalog=catalog, accounts=accounts)
    return answer_to(
        asked,
        inquiry,
        payer=payer,
        accounts=accounts,
        engines=engines,
        progress=progress,
        time_step=time_step,
    )


def answer_to(  # noqa: PLR0913  # who asks what of whom
    asked: AnyPriced,
    inquiry: Inquiry,
    *,
    payer: Account,
    accounts: Payers,
    engines: EnginePool,
    progress: Progress,
    time_step: float = 0.0,
) -> Answer:
    """The answer to a question that is priced: the stored one, or one that is paid for."""
    stored = None if inquiry.anew else given_before(payer, asked, inquiry)
    if stored is not None:
        return stored
    progress("planning")
    ready = [(engines.prepared(each), each) for each in asked.measurements]
    accounts.declare(payer, dataset=asked.dataset)
    charge = _reserved(payer, asked, inquiry)
    if isinstance(charge, Answer):
        return charge
    try:
        return _released(charge, payer, asked, ready, progress, time_step)
    except Exception:  # noqa: BLE001, S110  # whatever it says may be about somebody
        pass
    for engine, _ in ready:
        engines.forget(engine)
    raise EngineFailed


def _released(  # noqa: PLR0913  # who pays what, for which figures, and when
    charge: Charge,
    payer: Account,
    asked: AnyPriced,
    ready: Sequence[tuple[Engine, Measurement]],
    progress: Progress,
    time_step: float,
) -> Answer:
    """What is drawn for a question that is charged, kept with the charge before it is shown.

    All measurements of a question are over before the first noise is drawn.

    Nobody, this caller or another, sees the end of the engine's work but at a time step: neither an
    answer, nor a failure, nor that the question has an answer now. What was stopped until then has
    none, whether or not the engine had finished. Noise is drawn after the wait, so that a crash
    meanwhile leaves a charge that can be completed.
    """
    with charge:
        progress("computing")
        for engine in {id(engine): engine for engine, _ in ready}.values():
            _reach(engine, charge)
        with _at_steps(time_step):
            charge.running()
            exact = [engine.measure(measurement) for engine, measurement in ready]
        refuse_stopped()
        charge.drawing()
        progress("drawing noise")
        released = _drawn(exact, charge.request, _paid_blocks(payer, charge.request))
        answer = _signed(_answer(asked, released), charge, payer, asked.cost)
        charge.release(answer.to_json())
    return answer


def _drawn(
    exact: Sequence[tuple[Prepared, Exact]], paid: Request, blocks: ChargedBlocks | None
) -> list[Released]:
    """The figures with noise of all measurements, each for its own part of what was charged.

    The charge is cut into what the measurements cost, one after the other, and has to be just that:
    it is looked at before the first noise is drawn, and by the kernel again for each of them.
    """
    costs = [prepared.measurement.releases for prepared, _ in exact]
    if tuple(paid.releases) != tuple(release for cost in costs for release in cost):
        raise InvalidParameter("paid", paid.releases, "what all measurements cost together")
    rest = iter(paid.releases)
    return [
        prepared.draw(
            each, paid=tuple(islice(rest, len(cost))), dataset=paid.dataset, blocks=blocks
        )
        for (prepared, each), cost in zip(exact, costs, strict=True)
    ]


def _answer(asked: AnyPriced, released: Sequence[Released]) -> Answer:
    if isinstance(asked, PricedCompound):
        offers = [part.offer for part in asked.parts]
        return united_answer(asked.query, offers, released, sql=asked.sql)
    if asked.answer is not None:
        made: Answer = asked.answer(released[0])
        return made
    return answer_of(asked.query, asked.offer, released[0], sql=asked.sql)


@contextmanager
def _at_steps(step: float) -> Iterator[None]:
    """What is done inside ends, well or badly, a whole number of steps after it began."""
    begun = time.monotonic()
    try:
        yield
    finally:
        if step > 0:
            time.sleep(step - (time.monotonic() - begun) % step)


def given_before(account: Account, asked: AnyPriced, inquiry: Inquiry) -> Answer | None:
    """The stored answer to the same question, word for word; it costs nothing."""
    stored = account.answer(
        asked.fingerprint,
        dataset=asked.dataset,
        analyst=inquiry.analyst,
        member_of=inquiry.member_of,
        blocks=asked.blocks,
    )
    return None if stored is None else _again(stored, account)


def kept_answer(
    account: Account, entry: int, *, analyst: str, member_of: tuple[str, ...]
) -> Answer | None:
    """The stored answer of one entry, for somebody who may see it; None for others."""
    stored = account.answer_of(entry, analyst=analyst, member_of=member_of)
    return None if stored is None else _again(stored, account)


def _again(stored: StoredAnswer, account: Account) -> Answer:
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


def submitted(
    inquiries: Sequence[Inquiry], *, catalog: Catalog, accounts: Payers
) -> tuple[Account, str]:
    """Ask for approval of questions; the account, and the id to ask them with. It costs nothing."""
    found = [priced(inquiry, catalog=catalog, accounts=accounts) for inquiry in inquiries]
    names = tuple(dict.fromkeys(payer.name for payer, _ in found))
    if len(names) != 1:
        valid = "at least one question, all paid by one account; submit one plan for each account"
        raise InvalidParameter("questions", ", ".join(names) or None, valid)
    payer = found[0][0]
    proposals = [
        Proposal(
            releases=asked.releases,
            dataset=asked.dataset,
            purpose=inquiry.purpose or _purpose(asked),
            query_text=asked.identity,
            blocks=asked.blocks,
        )
        for inquiry, (_, asked) in zip(inquiries, found, strict=True)
    ]
    return payer, payer.submit_plan(proposals, analyst=inquiries[0].analyst)


def _reserved(account: Account, asked: AnyPriced, inquiry: Inquiry) -> Charge | Answer:
    """A durable charge; or the answer, if somebody else who asked the same has brought it.

    Raises:
        BudgetExceeded: it does not fit; nothing was charged, and the error says what would fit.
        EngineFailed: somebody else who asked it at the same time has failed.
    """
    charged = (
        partial(account.reserve, key=inquiry.job)
        if inquiry.anew
        else partial(account.claim, patience=inquiry.patience)
    )
    analyst, approval = inquiry.analyst, inquiry.approval
    # what was approved says why it is asked
    purpose = inquiry.purpose or ("" if approval else _purpose(asked))
    try:
        found = charged(
            asked.releases,
            dataset=asked.dataset,
            analyst=analyst,
            purpose=purpose,
            query_text=asked.identity,
            blocks=asked.blocks,
            approval=approval,
            audience=inquiry.audience,
            member_of=inquiry.member_of,
            question=inquiry.job,
        )
    except AccountOverdrawn:
        raise
    except BudgetExceeded as error:
        refused: QuaestorError = refusal(account, asked, analyst=analyst) or error
    except ChargeSettled:
        refused = EngineFailed()
    else:
        if not isinstance(found, StoredAnswer) and found.status == "released":  # this job, before
            kept = account.answer_of(found.entry, analyst=analyst, member_of=inquiry.member_of)
            found = found if kept is None else kept
        return _again(found, account) if isinstance(found, StoredAnswer) else found
    refused.__context__ = None
    raise refused


def _purpose(asked: AnyPriced) -> str:
    """The question in one printable line."""
    words = "".join(c if c.isprintable() else " " for c in asked.words)
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
            charge.void("the database could not be reached; no query was sent")
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
        entry=charge.entry,
    )
