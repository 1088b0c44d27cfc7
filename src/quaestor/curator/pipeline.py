"""The way of a question: parse, plan, price, reserve, measure, draw, settle. Nothing flows back.

What is wrong before the reservation costs nothing and touches no data. The charge is durable before
the engine reads a row. Whatever fails once a statement was sent leaves it in place and looks the
same: an error that told more could tell of somebody.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from quaestor.curator.answers.answer import Answer
from quaestor.curator.charged_questions import ChargedQuestion, one_line, released, reserved
from quaestor.curator.inquiry import Inquiry
from quaestor.curator.language.compound import Compound
from quaestor.curator.pricing.editions import FIRST, LATEST, is_alone
from quaestor.curator.pricing.known_prices import known_plan, known_price
from quaestor.curator.pricing.priced_compound import price_compound
from quaestor.curator.pricing.tariffs import tariff_of
from quaestor.curator.questions.block_reach import charged_blocks
from quaestor.curator.stored_answers import given_before
from quaestor.errors import EngineFailed, InvalidParameter, NotPlanned, RefusedQuery
from quaestor.ledger import Proposal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.engines.engine import EnginePool
    from quaestor.curator.kernel.dated_rows import ChargedBlocks
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.priced_compound import AnyPriced
    from quaestor.ledger import Account

    Progress = Callable[[str], None]

    class PricedBy(Protocol):
        """Prices a question by an edition, with or without its whole error."""

        def __call__(self, edition: int, *, whole: bool) -> AnyPriced: ...


__all__ = [
    "Inquiry",
    "answer_to",
    "answered",
    "charged",
    "priced",
    "reached_blocks",
    "submitted",
]


class Payers(Protocol):
    """Who can pay for questions."""

    def payer(self, name: str | None, *, dataset: str) -> Account:
        """The account of that name or, without one, the only one on the dataset."""

    def declare(self, account: Account, *, dataset: str) -> None:
        """Record what the catalog declares of a dataset, if that has changed."""


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

    return payer, _as_known(payer, inquiry, at)


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
    earlier = () if is_alone(payer.opened_under) else latest.earlier_editions
    editions += [
        at(edition, whole=whole)
        for edition in earlier
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
    found = charged(
        asked, inquiry, payer=payer, accounts=accounts, engines=engines, progress=progress
    )
    if isinstance(found, Answer):
        return found
    with found.charge:
        (answer,) = released([found], engines, progress, time_step)
    if isinstance(answer, EngineFailed):
        raise answer
    return answer


def charged(  # noqa: PLR0913  # who asks what of whom
    asked: AnyPriced,
    inquiry: Inquiry,
    *,
    payer: Account,
    accounts: Payers,
    engines: EnginePool,
    progress: Progress,
) -> ChargedQuestion | Answer:
    """A question that is priced, planned and then charged; or the stored answer to it."""
    stored = None if inquiry.anew else given_before(payer, asked, inquiry)
    if stored is not None:
        return stored
    progress("planning")
    ready = [(engines.prepared(each), each) for each in asked.measurements]
    accounts.declare(payer, dataset=asked.dataset)
    charge = reserved(payer, asked, inquiry)
    return charge if isinstance(charge, Answer) else ChargedQuestion(asked, payer, charge, ready)


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
            purpose=inquiry.purpose or one_line(asked),
            query_text=asked.identity,
            blocks=asked.blocks,
        )
        for inquiry, (_, asked) in zip(inquiries, found, strict=True)
    ]
    return payer, payer.submit_plan(proposals, analyst=inquiries[0].analyst)
