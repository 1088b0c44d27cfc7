"""Previews: what a question would cost, how accurate it would be, and what would be left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any, Self

from quaestor.accounting.numerics.digits import rounded_down, rounded_up
from quaestor.curator.kernel.draws import NoisyTop, NoisyUnits, ShownGroups
from quaestor.curator.pricing.priced_compound import PricedCompound
from quaestor.curator.pricing.would_fit import would_fit
from quaestor.curator.questions.block_reach import blocks_in_words
from quaestor.documents.presented import Presented
from quaestor.documents.text_table import TextTable, headed
from quaestor.ledger.amounts import above, below
from quaestor.ledger.price import MANY

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.releases import Release
    from quaestor.curator.aggregates.recipe import Expected
    from quaestor.curator.pricing.priced_compound import AnyPriced
    from quaestor.curator.pricing.priced_question import Priced
    from quaestor.ledger import Account
    from quaestor.ledger.price import Price, Reading

__all__ = ["MeterPreview", "Preview", "meter_preview", "preview"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterPreview:
    """One meter of the account: what the question takes of it, and what would be left.

    None where the meter says nothing of such releases, or has been of no use since one of them.
    """

    name: str
    requested: float | None
    remaining: float | None
    left: float | None
    limit: float

    @property
    def share(self) -> float | None:
        """Which part of the whole meter the question takes."""
        if self.requested is None or self.limit <= 0:
            return None
        return self.requested / self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview(Presented):
    """What would be charged for a question; nothing was charged, and no data were looked at.

    ``rows`` is how many rows the answer has, if that is public. ``free`` says that the question
    was answered before, so that asking it again costs nothing. ``quota_of`` is the analyst whose
    quota all of this is about: whether the account's total suffices is seen when one asks.

    >>> from quaestor import Geometric
    >>> preview = Preview(
    ...     question="SELECT COUNT(*) AS n FROM visits", dataset="visits", account="trial",
    ...     releases=(Geometric(scale=10.0),), epsilon=0.1, delta=0.0, expected=(), confidence=0.95,
    ...     rows=1, meters=(), fits=True, free=False,
    ... )
    >>> preview.fits, preview.epsilon
    (True, 0.1)
    """

    question: str
    dataset: str
    account: str
    releases: tuple[Release, ...]
    epsilon: float | None
    delta: float
    expected: tuple[Expected, ...]
    confidence: float
    rows: int | None
    meters: tuple[MeterPreview, ...]
    fits: bool
    free: bool
    would_fit: str | None = None
    notes: tuple[str, ...] = ()
    quota_of: str | None = None
    blocks: tuple[str, ...] = ()
    """The blocks of time that pay; the meters are those of the one with the least left."""
    whole_error: float = 0.0
    """How much of it pays for the whole error: of the epsilon or, with Gaussian noise, the rho."""
    noise: str = "geometric"
    """The noise of counts and sums: geometric or gaussian."""
    left: float | None = None
    """The share of the budget that would be left; None where that is not known."""
    more: int | None = None
    """How many questions like this would fit, this one included; None where it is free."""

    @classmethod
    def from_dict(cls, said: dict[str, Any]) -> Self:
        """Read back what :meth:`to_dict` gave."""
        from quaestor.accounting.expressions import parse_release
        from quaestor.curator.aggregates.recipe import Expected

        names = ("meter", "requested", "remaining", "left", "limit")
        meters = ({name: each[name] for name in names} for each in said["meters"])
        return cls(
            **{
                **said,
                "releases": tuple(map(parse_release, said["releases"])),
                "expected": tuple(Expected(**each) for each in said["expected"]),
                "meters": tuple(MeterPreview(name=each.pop("meter"), **each) for each in meters),
                "notes": tuple(said["notes"]),
                "blocks": tuple(said.get("blocks", ())),
            }
        )

    def to_table(self) -> TextTable:
        """How accurate each figure would be; below, what it costs and whether it fits."""
        expected = [
            [
                one.name,
                "-" if one.standard_error is None else _error(one.standard_error, one.divided_by),
                one.words,
            ]
            for one in self.expected
        ]
        meters = [
            f"{one.name}: takes {_or_dash(one.requested, rounded_up)} of {one.limit:g}, "
            f"leaves {_or_dash(one.left, rounded_down)}"
            for one in self.meters
        ]
        cost = f"costs {self._cost()} on account {self.account}"
        heads = ("figure", "#standard error", f"error ({100 * self.confidence:g} %)")
        return TextTable(
            title=self.question,
            headings=headed(*heads),
            rows=expected,
            notes=[*self.notes, cost, *meters, self.verdict],
        )

    def _cost(self) -> str:
        if self.epsilon is None:
            return f"more than any epsilon at delta {self.delta:g}"
        at = f" at delta {rounded_up(self.delta)}" if self.delta else ""
        return f"epsilon {rounded_up(self.epsilon)}{at}"

    @property
    def verdict(self) -> str:
        """Whether it fits, in a sentence."""
        if self.free:
            return "It was asked before: asking it again gives the same answer and costs nothing."
        whose = "" if self.quota_of is None else f" {self.quota_of}'s quota"
        if self.fits:
            later = " Whether the account can pay is decided when you ask." if whose else ""
            return f"It fits{whose}{self._times()}. Nothing was charged.{later}"
        instead = f"; {self.would_fit} would" if self.would_fit else ""
        return f"It does not fit{whose}{instead}. Nothing was charged."

    def _times(self) -> str:
        if self.more is None or self.more < 1:
            return ""
        if self.more == 1:
            return ", but only once"
        many = "any number of" if self.more >= MANY else f"{self.more}"
        return f"; {many} questions like this fit in total"

    def plot(self, *, axes: Any = None) -> Any:
        """Draw, for each meter, what was used before, what the question takes, and what is left.

        Returns matplotlib's axes: those that are given, or new ones.
        """
        from quaestor.figures.bars import ShareBar, plot_shares
        from quaestor.figures.style import given_or_new

        bars = []
        for one in self.meters:
            if one.remaining is None or one.limit <= 0:
                continue
            gone = max(one.limit - one.remaining, 0.0) / one.limit
            bars.append(ShareBar(one.name, gone, one.share or 0.0, (one.left or 0.0) / one.limit))
        with given_or_new(axes) as drawn:
            plot_shares(drawn, bars, title=f"account {self.account}")
            return drawn

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "question": self.question,
            "dataset": self.dataset,
            "account": self.account,
            "releases": [str(release) for release in self.releases],
            "epsilon": self.epsilon,
            "delta": self.delta,
            "expected": [
                {
                    "name": one.name,
                    "standard_error": one.standard_error,
                    "half_width": one.half_width,
                    "divided_by": one.divided_by,
                    "words": one.words,
                }
                for one in self.expected
            ],
            "confidence": self.confidence,
            "rows": self.rows,
            "meters": [
                {
                    "meter": one.name,
                    "requested": one.requested,
                    "remaining": one.remaining,
                    "left": one.left,
                    "limit": one.limit,
                    "share": one.share,
                }
                for one in self.meters
            ],
            "fits": self.fits,
            "free": self.free,
            "would_fit": self.would_fit,
            "notes": list(self.notes),
            "quota_of": self.quota_of,
            "whole_error": self.whole_error,
            **({"noise": self.noise} if self.noise != "geometric" else {}),
            "left": self.left,
            "more": self.more,
            **({"blocks": list(self.blocks)} if self.blocks else {}),
        }


def _error(error: float, divided_by: str | None) -> str:
    return f"{error:,.6g}" + (f" / {divided_by}" if divided_by else "")


def _or_dash(value: float | None, shown: Callable[[Fraction], str]) -> str:
    return "-" if value is None else shown(Fraction(value))


def preview(account: Account, asked: AnyPriced, *, analyst: str, free: bool) -> Preview:
    """What an account says to a priced question."""
    price = account.price(
        asked.releases,
        dataset=asked.dataset,
        analyst=analyst,
        query=asked.fingerprint,
        blocks=asked.blocks,
    )
    return Preview(
        question=asked.words,
        dataset=asked.dataset,
        account=account.name,
        releases=asked.releases,
        epsilon=asked.cost.epsilon,
        delta=asked.cost.delta,
        expected=_expected(asked),
        confidence=asked.parts[0].offer.confidence,
        rows=_rows(asked),
        meters=tuple(map(meter_preview, price.readings)),
        fits=price.fits or free,
        free=free,
        would_fit=None if free else would_fit(account, asked, price, analyst=analyst),
        notes=(*_all_notes(asked), *_notes_on_blocks(asked.parts[0], price)),
        quota_of=price.quota_of,
        blocks=asked.blocks,
        whole_error=above(sum((p.offer.whole_price for p in asked.parts), Fraction(0))),
        noise=asked.parts[0].offer.noise,
        left=_share_left(account, asked, price, analyst=analyst, free=free),
        more=None if free else price.times,
    )


def _share_left(
    account: Account, asked: AnyPriced, price: Price, *, analyst: str, free: bool
) -> float | None:
    """The share that would be left, by the rule of the account's own filter."""
    standing = account.standing_on(asked.dataset, analyst=analyst, blocks=asked.blocks)
    if free:
        return below(standing.left)
    if not price.fits or len(standing.meters) != len(price.readings):
        return None
    must: list[Fraction] = []
    some: list[Fraction] = []
    for meter, reading in zip(standing.meters, price.readings, strict=True):
        if meter.rule == "slots" or not reading.limit:
            continue
        requested, remaining = reading.requested, reading.remaining
        rest = Fraction(0) if requested is None or remaining is None else remaining - requested
        (must if meter.rule == "must hold" else some).append(max(rest / reading.limit, Fraction(0)))
    shares = [*must, *([max(some)] if some else [])]
    return below(min(shares)) if shares else None


def meter_preview(reading: Reading) -> MeterPreview:
    """What a question takes of one meter."""
    requested, remaining = reading.requested, reading.remaining
    left: Fraction | None = None
    if requested is not None and remaining is not None and requested <= remaining:
        left = remaining - requested
    return MeterPreview(
        name=reading.title,
        requested=None if requested is None else above(requested),
        remaining=None if remaining is None else below(remaining),
        left=None if left is None else below(left),
        limit=below(reading.limit),
    )


def _expected(asked: AnyPriced) -> tuple[Expected, ...]:
    """The errors of all outputs, part by part where there are several."""
    if not isinstance(asked, PricedCompound):
        return asked.offer.expected
    return tuple(
        replace(each, name=f"{each.name} ({label})")
        for part, label in zip(asked.parts, asked.query.labels, strict=True)
        for each in part.offer.expected
    )


def _all_notes(asked: AnyPriced) -> list[str]:
    """What there is to say, once, of all parts."""
    noise = [asked.noise_words] if asked.noise_words else []
    if not isinstance(asked, PricedCompound):
        return [*noise, *_notes(asked), *_notes_on_whole(asked)]
    labelled = [
        [f"{label}: {note}" for note in (*_notes(part), *_notes_on_whole(part))]
        for part, label in zip(asked.parts, asked.query.labels, strict=True)
    ]
    return [*asked.query.notes, *noise, *(note for part in labelled for note in part)]


def _rows(asked: AnyPriced) -> int | None:
    """How many rows the answer has, if that is public."""
    counts = [_rows_of(part) for part in asked.parts]
    if None in counts:
        return None
    rows = sum(count for count in counts if count is not None)
    limit = asked.query.limit
    return rows if limit is None else min(rows, limit)


def _rows_of(asked: Priced) -> int | None:
    query = asked.query
    if query.having is not None or any(key.values is None for key in query.keys):
        return None
    if query.top is not None:
        return query.top.count
    rows = prod(len(key.values or ()) for key in query.keys)
    return rows if query.limit is None else min(rows, query.limit)


def _notes_on_whole(asked: Priced) -> list[str]:
    """How the price is split."""
    if asked.offer.whole is None:
        return []
    part = asked.offer.whole_price
    if None in asked.offer.whole.cuts and not part:
        return ["the intervals of these figures do not cover what caps and bounds cut"]
    if not part:
        return [
            (
                "nothing can be cut within the outer limits, so the whole-error interval "
                "costs nothing"
            )
        ]
    meter = "epsilon" if asked.offer.noise == "geometric" else "rho"
    words = (
        "pays for the whole-error interval, which also covers what caps and bounds "
        "cut (--no-whole-error saves it)"
    )
    return [f"{meter} {rounded_up(part)} of it {words}"]


def _notes_on_blocks(asked: Priced, price: Price) -> list[str]:
    blocks = asked.offer.measurement.blocks
    if blocks is None:
        return []
    count = len(blocks.labels)
    paying = f"{count} {blocks.every}s pay, each" if count > 1 else f"{blocks.labels[0]} pays"
    full = f"; {', '.join(price.full)} cannot" if price.full else ""
    return [
        f"{paying} all of it; {price.block} has the least left{full}",
        blocks_in_words(blocks),
    ]


def _notes(asked: Priced) -> list[str]:
    notes = []
    choice = asked.offer.choice
    whence = "" if asked.budget.delta else " (a hundredth of the account's)"
    spent = f"which costs at most delta {asked.delta or 0:g}{whence}"
    if isinstance(choice, NoisyUnits):
        notes.append(
            "the names of the groups are private: only groups with a noisy count of at "
            f"least {choice.mechanism.threshold} people are shown, {spent}"
        )
    if isinstance(choice, ShownGroups):
        notes.append(
            "the names of the groups are private: half of the groups of "
            f"{choice.mechanism.likely} people are shown, by chance, and all of "
            f"{choice.mechanism.certain} or more, {spent}"
        )
    if isinstance(choice, NoisyTop):
        notes.append("the groups are chosen by the exponential mechanism")
    return notes
