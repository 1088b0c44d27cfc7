"""The way of ``tune``: planned, priced, charged, measured and drawn as any question is.

What is stored as the answer is the noisy histograms. Limits are chosen from them and from public
facts alone, so that the same tuning again chooses the same limits, and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from quaestor.curator.aggregates.recipe import Scatter
from quaestor.curator.answers.answer import Answer, AnswerColumn
from quaestor.curator.engines.engine import EnginePool
from quaestor.curator.limits.tune_plan import bare_query, loosened, price_tune
from quaestor.curator.limits.tuned_limits import choose_limits, tuned_table
from quaestor.curator.pipeline import Inquiry, answer_to, reached_blocks
from quaestor.curator.preview import preview
from quaestor.curator.stored_answers import given_before
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.kernel.figures import Released
    from quaestor.curator.limits.tune_plan import TunePlan
    from quaestor.curator.limits.tuned_limits import ChosenLimit
    from quaestor.curator.pipeline import Payers, Progress
    from quaestor.curator.preview import Preview
    from quaestor.curator.pricing.priced_question import Priced
    from quaestor.ledger import Account, Ledger

__all__ = [
    "TunedTable",
    "measured",
    "preview_tune",
    "priced_tune",
    "refuse_dependent",
    "tune",
    "units_by_bin",
]

_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedTable:
    """Limits that were chosen privately, the table that has them, and what paid for them."""

    table: Table
    chosen: tuple[ChosenLimit, ...]
    answer: Answer
    """The noisy histograms, with their cost and receipt."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "table": self.table.name,
            "account": self.answer.account,
            "receipt": self.answer.receipt,
            "epsilon": self.answer.epsilon,
            "repeated": self.answer.repeated,
            "limits": [each.to_dict() for each in self.chosen],
        }


def refuse_dependent(ledger: Ledger, dataset: str) -> None:
    """Refuse to change a table on which an open account has fixed its questions.

    The fingerprint of a dashboard's question holds what is declared of the table: with other
    limits it would be another question, which the account does not have.

    Raises:
        RefusedQuery: there is such an account.
    """
    for account in ledger.accounts():
        definition = account.definition
        if (
            dataset in definition.datasets
            and definition.policy.by_query
            and not account.is_closed()
        ):
            raise RefusedQuery(
                (
                    f"account {account.name!r} is a dashboard, whose questions are bound to the "
                    f"declaration of dataset {dataset!r}: other limits would change them"
                ),
                remedy="close that account first, or leave the limits as they are",
            )


def priced_tune(
    plan: TunePlan, inquiry: Inquiry, *, catalog: Catalog, accounts: Payers
) -> tuple[Account, Priced]:
    """Who pays for the histograms of a plan, and how much: no data are touched."""
    payer = accounts.payer(inquiry.account, dataset=plan.table.dataset or plan.table.name)
    blocks = reached_blocks(bare_query(plan), catalog, payer)
    asked = price_tune(plan, catalog, blocks=blocks)
    return payer, replace(asked, answer=lambda released: _answer(plan, asked, released))


def preview_tune(
    plan: TunePlan, inquiry: Inquiry, *, catalog: Catalog, accounts: Payers
) -> Preview:
    """What tuning would cost; no data are touched."""
    payer, asked = priced_tune(plan, inquiry, catalog=catalog, accounts=accounts)
    free = not inquiry.anew and given_before(payer, asked, inquiry) is not None
    made = preview(payer, asked, analyst=inquiry.analyst, free=free)
    words = f"histograms of people in {plan.table.name}, to choose {', '.join(plan.limits)}"
    return replace(made, question=words, rows=None)


def tune(
    plan: TunePlan,
    inquiry: Inquiry,
    *,
    catalog: Catalog,
    accounts: Payers,
    progress: Progress,
) -> TunedTable:
    """Measure the histograms of a plan, charged as any question, and choose limits by them."""
    payer, asked = priced_tune(plan, inquiry, catalog=catalog, accounts=accounts)
    answer = measured(
        plan,
        asked,
        inquiry,
        payer=payer,
        catalog=catalog,
        accounts=accounts,
        progress=progress,
    )
    chosen = choose_limits(plan, units_by_bin(answer))
    made = tuned_table(
        plan.table, chosen, account=answer.account or payer.name, receipt=answer.receipt or 1
    )
    return TunedTable(table=made, chosen=chosen, answer=answer)


def measured(  # noqa: PLR0913  # who asks what of whom
    plan: TunePlan,
    asked: Priced,
    inquiry: Inquiry,
    *,
    payer: Account,
    catalog: Catalog,
    accounts: Payers,
    progress: Progress,
    time_step: float = 0.0,
) -> Answer:
    """The noisy histograms of a plan: the stored ones, or ones that are paid for."""
    engines = EnginePool(loosened(catalog, plan.table.name))
    try:
        return answer_to(
            asked,
            inquiry,
            payer=payer,
            accounts=accounts,
            engines=engines,
            progress=progress,
            time_step=time_step,
        )
    finally:
        engines.close()


def units_by_bin(answer: Answer) -> list[list[int]]:
    """Noisy numbers of units, of each histogram of an answer."""
    return [
        [int(row["units"] or 0) for row in part]
        for _, part in groupby(answer.rows(), key=lambda row: row["part"])
    ]


def _answer(plan: TunePlan, asked: Priced, released: Released) -> Answer:
    """The histograms as a table: for each limit and bin, where it begins and ends, and units."""
    rows: list[tuple[Any, ...]] = []
    for at, (part, draw) in enumerate(zip(plan.parts, asked.offer.measurement.draws, strict=True)):
        scatter = Scatter(draw)
        error, half = scatter.standard_error, scatter.reach(_CONFIDENCE)
        ends = [None, *part.measure.edges, None]
        for place, units in enumerate(released.figures[draw][0].tolist()):
            most = (max(0.0, units - half), max(0.0, units + half))
            rows.append((at, part.limit, ends[place], ends[place + 1], units, error, *most))
    places, limits, above, upto, units, errors, lower, upper = zip(*rows, strict=True)
    return Answer(
        dataset=asked.query.dataset,
        columns=(
            AnswerColumn(name="part", kind="integer", values=places),
            AnswerColumn(name="limit", kind="text", values=limits),
            AnswerColumn(name="above", kind="real", values=above),
            AnswerColumn(name="up to", kind="real", values=upto),
            AnswerColumn(
                name="units",
                kind="integer",
                values=units,
                standard_errors=errors,
                lower=lower,
                upper=upper,
            ),
        ),
        confidence=_CONFIDENCE,
        releases=asked.releases,
        notes=(("Each person is in one bin of each part. Limits were chosen from these figures."),),
    )
