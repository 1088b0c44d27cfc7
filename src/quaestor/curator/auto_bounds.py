"""The way of a question with ``AUTO``: two ordinary questions, one after the other.

First noisy histograms of units, as ``tune`` measures them; then the question with bounds that are
chosen from them. Each is charged, marked and stored by itself. Whatever fails in between loses
nothing: the same question again finds the histograms, chooses the same bounds, and goes on.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.curator.answers.outputs import answer_of
from quaestor.curator.limits.question_bounds import (
    PROVISIONAL,
    choose_question_bounds,
    plan_bounds,
)
from quaestor.curator.pipeline import answer_to, priced
from quaestor.curator.preview import meter_preview, preview
from quaestor.curator.pricing.priced_question import Priced
from quaestor.curator.stored_answers import given_before
from quaestor.curator.tuned_tables import measured, priced_tune, units_by_bin
from quaestor.errors import BudgetExceeded, RefusedQuery
from quaestor.ledger.amounts import above

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.engines.engine import EnginePool
    from quaestor.curator.limits.question_bounds import QuestionBounds, QuestionPlan
    from quaestor.curator.pipeline import Inquiry, Payers, Progress
    from quaestor.curator.preview import Preview
    from quaestor.curator.sql.auto_calls import AutoText
    from quaestor.ledger import Account
    from quaestor.ledger.price import Price

__all__ = ["answered_auto", "preview_auto"]

_INSTEAD = (
    "write CLAMP(x, 0, 100) with bounds of your own, or let the data owner choose bounds of the "
    "table: quaestor dataset tune"
)
_BEFORE = "The histogram was paid for before."


class _Way:
    """Both questions, priced: who pays for them, and what is known of the first one already."""

    def __init__(
        self, auto: AutoText, inquiry: Inquiry, *, catalog: Catalog, accounts: Payers
    ) -> None:
        self.catalog, self.accounts = catalog, accounts
        self.plan: QuestionPlan = plan_bounds(
            auto, inquiry.budget, catalog, rows=inquiry.rows, groups=inquiry.groups
        )
        payer = accounts.payer(inquiry.account, dataset=self.plan.query.dataset)
        self.payer: Account = payer
        self.inquiry = replace(inquiry, account=payer.name, budget=self.plan.budget)
        self._refuse_fixed()
        limits = ", ".join(self.plan.tuning.limits)
        self.first = replace(
            self.inquiry,
            question="",
            purpose=f"bounds of {self.plan.tuning.table.name}: {limits}"[:500],
            anew=False,
            job="",  # the job's charge is that of the question itself
        )
        _, self.histograms = priced_tune(
            self.plan.tuning, self.first, catalog=catalog, accounts=accounts
        )
        self.stored = given_before(payer, self.histograms, self.first)

    def _refuse_fixed(self) -> None:
        policy, name = self.payer.definition.policy, self.payer.name
        if not policy.chosen_freely or policy.by_blocks:
            raise RefusedQuery(
                (
                    f"AUTO chooses bounds when the question is asked, and account {name!r} needs "
                    "them earlier: its questions are declared in advance, or it has a budget for "
                    "each block of time"
                ),
                remedy=_INSTEAD,
            )

    def asked(self, text: str) -> tuple[Inquiry, Priced]:
        """The question itself with this text, and its price."""
        inquiry = replace(self.inquiry, question=text)
        _, asked = priced(inquiry, catalog=self.catalog, accounts=self.accounts)
        if not isinstance(asked, Priced):
            raise RefusedQuery("AUTO is supported in a single SELECT only", remedy=_INSTEAD)
        return inquiry, asked

    def provisional(self) -> Priced:
        """The question as it is priced before there are bounds.

        Raises:
            RefusedQuery: the account demands approval for both together.
        """
        _, asked = self.asked(self.plan.provisional())
        both = (*self.histograms.releases, *asked.releases)
        if self.inquiry.approval or self.payer.definition.needs_approval(both):
            raise RefusedQuery(
                (
                    f"account {self.payer.name!r} requires approval of a question with its "
                    "bounds, and AUTO chooses them when the question is asked"
                ),
                remedy=_INSTEAD,
            )
        return asked

    def price(self, asked: Priced) -> Price:
        """What both cost together; only the question, if the histograms are there."""
        first = () if self.stored is not None else self.histograms.releases
        return self.payer.price(
            (*first, *asked.releases),
            dataset=self.plan.query.dataset,
            analyst=self.inquiry.analyst,
        )

    def chosen(self, answer: Answer) -> dict[str, QuestionBounds]:
        """Bounds by released histograms; refused where these say nothing."""
        bounds = choose_question_bounds(self.plan, units_by_bin(answer))
        for each in bounds.values():
            if not each.sure and not each.declared:
                raise RefusedQuery(
                    f"the noisy histogram does not show where the values of {each.column} are, so "
                    f"bounds would be a guess; only the histogram was charged ({_paid(answer)})",
                    remedy="ask with a larger epsilon, or write "
                    f"CLAMP({each.column}, 0, 100) with bounds of your own",
                )
        return bounds

    def bounded(self, bounds: dict[str, QuestionBounds]) -> str:
        """The question's text with these bounds."""
        return self.plan.auto.bounded({name: (b.low, b.high) for name, b in bounds.items()})


def _paid(answer: Answer) -> str:
    receipt = "" if answer.receipt is None else f", receipt {answer.receipt}"
    return f"epsilon {answer.epsilon:g}{receipt}"


def _notes(bounds: dict[str, QuestionBounds], answer: Answer) -> tuple[str, ...]:
    """Which bounds were chosen, what they cost, and with which receipt."""
    words = {
        f"{each.column} from {each.low:g} to {each.high:g}"
        + (", as declared, because noise hides where its values are" if not each.sure else "")
        for each in bounds.values()
    }
    chosen = "; ".join(sorted(words))
    return (
        f"Bounds were chosen by a noisy histogram ({_paid(answer)}): {chosen}.",
        ("Values outside these bounds are moved to the nearer bound; intervals do not cover this."),
    )


def answered_auto(  # noqa: PLR0913  # whom it passes on its way
    auto: AutoText,
    inquiry: Inquiry,
    *,
    catalog: Catalog,
    accounts: Payers,
    engines: EnginePool,
    progress: Progress,
    time_step: float = 0.0,
) -> Answer:
    """The answer to a question with ``AUTO``; its epsilon is what was charged for both now.

    Raises:
        BudgetExceeded: both together do not fit; nothing was charged.
    """
    way = _Way(auto, inquiry, catalog=catalog, accounts=accounts)
    if way.stored is None:
        _refuse_unless_both_fit(way, way.provisional())
    else:
        way.provisional()  # where approval is needed, it is refused
    histograms = measured(
        way.plan.tuning,
        way.histograms,
        way.first,
        payer=way.payer,
        catalog=catalog,
        accounts=accounts,
        progress=progress,
        time_step=time_step,
    )
    bounds = way.chosen(histograms)
    notes = _notes(bounds, histograms)
    second, asked = way.asked(way.bounded(bounds))

    def noted(released: object) -> Answer:
        made = answer_of(asked.query, asked.offer, released, sql=asked.sql)  # type: ignore[arg-type]
        return replace(made, notes=(*made.notes, *notes))

    answer = answer_to(
        replace(asked, answer=noted),
        second,
        payer=way.payer,
        accounts=accounts,
        engines=engines,
        progress=progress,
        time_step=time_step,
    )
    return _together(answer, histograms, notes)


def _together(answer: Answer, histograms: Answer, notes: tuple[str, ...]) -> Answer:
    """The answer with what both have cost; what was there before costs nothing now."""
    said = (*answer.notes, *(note for note in notes if note not in answer.notes))
    if histograms.repeated:
        return replace(answer, notes=(*said, _BEFORE))
    if answer.repeated:
        words = "The question with these bounds was answered and paid for before."
        return replace(
            answer,
            notes=(*said, words),
            epsilon=histograms.epsilon,
            delta=histograms.delta,
            releases=histograms.releases,
            repeated=False,
        )
    both = None
    if histograms.epsilon is not None and answer.epsilon is not None:
        both = above(Fraction(histograms.epsilon) + Fraction(answer.epsilon))
    releases = (*histograms.releases, *answer.releases)
    return replace(answer, notes=said, releases=releases, epsilon=both)


def _refuse_unless_both_fit(way: _Way, asked: Priced) -> None:
    price = way.price(asked)
    if price.fits:
        return
    said = price.refusal()
    amounts = (said.requested, said.remaining, said.difference)
    first, rest = way.plan.tuning.epsilon, way.plan.budget.epsilon
    raise BudgetExceeded(
        way.payer.name,
        meter=said.meter,
        amounts=None if None in amounts else amounts,  # type: ignore[arg-type]  # all or none
        short="" if price.short is None else price.short.words(),
    ).advise(
        f"A histogram for the bounds (epsilon {first:g}) and the question (epsilon {rest:g}) must "
        "fit together"
    )


def preview_auto(
    auto: AutoText, inquiry: Inquiry, *, catalog: Catalog, accounts: Payers
) -> Preview:
    """What both would cost; bounds are known only if the histograms are there."""
    way = _Way(auto, inquiry, catalog=catalog, accounts=accounts)
    asked = way.provisional()
    first, rest = way.plan.tuning.epsilon, way.plan.budget.epsilon or 0.0
    analyst = way.inquiry.analyst
    if way.stored is not None:
        bounds = way.chosen(way.stored)
        second, asked = way.asked(way.bounded(bounds))
        free = not second.anew and given_before(way.payer, asked, second) is not None
        made = preview(way.payer, asked, analyst=analyst, free=free)
        return replace(made, notes=(*made.notes, *_notes(bounds, way.stored), _BEFORE))
    made = preview(way.payer, asked, analyst=analyst, free=False)
    price = way.price(asked)
    cost = way.histograms.cost.epsilon
    both = None
    if cost is not None and asked.cost.epsilon is not None:
        both = above(Fraction(cost) + Fraction(asked.cost.epsilon))
    words = made.question
    for name in way.plan.tuning.limits:
        low, high = (f"{end:.0f}" for end in PROVISIONAL)
        words = words.replace(f"CLAMP({name}, {low}, {high})", f"AUTO({name})")
    note = (
        f"epsilon {first:g} pays for a noisy histogram of {', '.join(way.plan.tuning.limits)}, by "
        f"which bounds are chosen, and epsilon {rest:g} for the question; bounds, and how accurate "
        "the answer will be, are not known before"
    )
    return replace(
        made,
        question=words,
        releases=(*way.histograms.releases, *asked.releases),
        epsilon=both,
        expected=(),
        meters=tuple(map(meter_preview, price.readings)),
        fits=price.fits,
        would_fit=None,
        notes=(*made.notes, note),
        quota_of=price.quota_of,
    )
