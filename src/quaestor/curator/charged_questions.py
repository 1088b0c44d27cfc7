"""Questions that are charged: measured, several of them together, then drawn each by itself.

All charges are durable before the first statement is sent. Whatever fails after that leaves its
charge in place and looks the same.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from time import monotonic, sleep
from typing import TYPE_CHECKING, NamedTuple

from quaestor.curator.answers.outputs import answer_of
from quaestor.curator.answers.united_answer import united_answer
from quaestor.curator.engines.shared_scans import measured_together
from quaestor.curator.engines.stop import refuse_stopped
from quaestor.curator.kernel.dated_rows import ChargedBlocks
from quaestor.curator.kernel.figures import KeptGroups
from quaestor.curator.pricing.priced_compound import PricedCompound
from quaestor.curator.pricing.would_fit import refusal
from quaestor.curator.stored_answers import repeated_answer
from quaestor.errors import (
    AccountOverdrawn,
    BudgetExceeded,
    ChargeSettled,
    EngineFailed,
    InvalidParameter,
)
from quaestor.ledger import StoredAnswer
from quaestor.ledger.amounts import below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.engines import Engine
    from quaestor.curator.engines.engine import EnginePool
    from quaestor.curator.inquiry import Inquiry
    from quaestor.curator.kernel.figures import Exact, Prepared, Released
    from quaestor.curator.kernel.measurement import Measurement
    from quaestor.curator.pricing.priced_compound import AnyPriced
    from quaestor.curator.pricing.priced_question import Cost
    from quaestor.errors import QuaestorError
    from quaestor.ledger import Account, Charge
    from quaestor.ledger.price import Request

    Progress = Callable[[str], None]
    _Figures = list[tuple[Prepared, Exact | KeptGroups]]
    """What the measurements of a question gave."""

__all__ = ["ChargedQuestion", "one_line", "released", "reserved"]

_LONGEST_PURPOSE = 500


class ChargedQuestion(NamedTuple):
    """A question with its durable charge, and what the engines have prepared for it."""

    asked: AnyPriced
    payer: Account
    charge: Charge
    ready: Sequence[tuple[Engine, Measurement]]


def reserved(account: Account, asked: AnyPriced, inquiry: Inquiry) -> Charge | Answer:
    """A durable charge; or the answer, if somebody else who asked the same has brought it.

    Raises:
        BudgetExceeded: it does not fit; nothing was charged, and the error says what would fit.
        EngineFailed: somebody else who asked it at the same time has failed.
    """
    asked = asked.worked_out()
    charged = (
        partial(account.reserve, key=inquiry.job)
        if inquiry.anew
        else partial(account.claim, patience=inquiry.patience)
    )
    analyst, approval = inquiry.analyst, inquiry.approval
    # what was approved says why it is asked
    purpose = inquiry.purpose or ("" if approval else one_line(asked))
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
        return repeated_answer(found, account) if isinstance(found, StoredAnswer) else found
    refused.__context__ = None
    raise refused


def one_line(asked: AnyPriced) -> str:
    """The question in one printable line."""
    words = "".join(c if c.isprintable() else " " for c in asked.words)
    return words[:_LONGEST_PURPOSE]


def released(
    questions: Sequence[ChargedQuestion],
    engines: EnginePool,
    progress: Progress,
    time_step: float = 0.0,
) -> list[Answer | EngineFailed]:
    """What is drawn for questions whose charges are held, kept with each before it is shown.

    All measurements of all questions are over before the first noise is drawn. One that fails keeps
    its charge; the others are answered.

    Nobody, this caller or another, sees the end of the engine's work but at a time step: neither an
    answer, nor a failure, nor that the question has an answer now. What was stopped until then has
    none, whether or not the engine had finished. Noise is drawn after the wait, so that a crash
    meanwhile leaves charges that can be completed. Where engines keep private groups until it is
    drawn which are shown, these are fetched within steps of their own.
    """
    progress("computing")
    reached = [_reached(question) for question in questions]
    with ExitStack() as kept:
        with _at_steps(time_step):
            there = [q if up else None for q, up in zip(questions, reached, strict=True)]
            exact = _measured(there, kept)
        pairs = list(zip(questions, exact, strict=True))
        if not any(engine.keeps(one) for question in questions for engine, one in question.ready):
            made = [_answered(q, _drawn(q, figures, progress)) for q, figures in pairs]
        else:
            with _at_steps(time_step):
                drawn = [_drawn(question, figures, progress) for question, figures in pairs]
                kept.close()
            made = [_answered(q, found) for q, found in zip(questions, drawn, strict=True)]
    for question, answer in zip(questions, made, strict=True):
        if isinstance(answer, EngineFailed):
            for engine, _ in question.ready:
                engines.forget(engine)
    return made


def _reached(question: ChargedQuestion) -> bool:
    """Whether it may be measured: its engines answer, and its charge is held.

    If an engine does not answer, the charge is given back where it may be.
    """
    try:
        for engine in {id(engine): engine for engine, _ in question.ready}.values():
            _reach(engine, question.charge)
        question.charge.running()
    except Exception:  # noqa: BLE001  # whatever it says may be about somebody
        return False
    return True


def _measured(
    questions: Sequence[ChargedQuestion | None], kept: ExitStack
) -> list[_Figures | None]:
    """The exact figures of questions, by as few statements as possible; None for what fails.

    What engines keep for them they forget with ``kept``, also where another part has failed.
    """
    asked = [ready for question in filter(None, questions) for ready in question.ready]
    try:
        found = iter(measured_together(asked))
    except Exception:  # noqa: BLE001  # whatever it says may be about somebody
        found = iter([None] * len(asked))
    figures = [
        None if question is None else [next(found) for _ in question.ready]
        for question in questions
    ]
    for one in (one for each in figures for one in each or () if one is not None):
        if isinstance(one[1], KeptGroups):
            kept.callback(one[1].close)
    return [
        None if each is None or None in each else [one for one in each if one is not None]
        for each in figures
    ]


def _drawn(
    question: ChargedQuestion, exact: _Figures | None, progress: Progress
) -> list[Released] | None:
    """What is drawn for a question, which is marked durably before; None if it fails."""
    if exact is None:
        return None
    charge = question.charge
    try:
        refuse_stopped()
        charge.drawing()
        progress("drawing noise")
        found = _noisy(exact, charge.request, _paid_blocks(question.payer, charge.request))
        for (engine, _), (_, each) in zip(question.ready, exact, strict=True):
            engine.count_corrections(each)
    except Exception:  # noqa: BLE001  # whatever it says may be about somebody
        return None
    return found


def _answered(question: ChargedQuestion, drawn: list[Released] | None) -> Answer | EngineFailed:
    """The answer, which is in the ledger; or that there is none."""
    asked, payer, charge, _ = question
    if drawn is None:
        return EngineFailed()
    try:
        refuse_stopped()
        answer = _noted(_signed(_answer(asked, drawn), charge, payer, asked.cost), question)
        charge.release(answer.to_json())
    except Exception:  # noqa: BLE001  # whatever it says may be about somebody
        return EngineFailed()
    return answer


def _noisy(exact: _Figures, paid: Request, blocks: ChargedBlocks | None) -> list[Released]:
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


def _paid_blocks(payer: Account, paid: Request) -> ChargedBlocks | None:
    """The blocks that were charged, as the account and the charge themselves have them."""
    policy = payer.definition.policy
    calendar = policy.calendar if policy.by_blocks else None
    if calendar is None:
        return None
    return ChargedBlocks(labels=paid.blocks, **calendar._asdict())


@contextmanager
def _at_steps(step: float) -> Iterator[None]:
    """What is done inside ends, well or badly, a whole number of steps after it began."""
    begun = monotonic()
    try:
        yield
    finally:
        if step > 0:
            sleep(step - (monotonic() - begun) % step)


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


def _noted(answer: Answer, question: ChargedQuestion) -> Answer:
    """The answer with what its engines say of the rows that they read."""
    notes = dict.fromkeys(note for engine, _ in question.ready for note in engine.notes)
    return replace(answer, notes=(*answer.notes, *notes))


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
