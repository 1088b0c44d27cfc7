"""Every theorem side by side: what it says, why it does not apply, and which one won."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.accounting import theorems
from quaestor.accounting.numerics.digits import TO_TYPE, rounded_up
from quaestor.accounting.theorems.bounded_range import has_range
from quaestor.documents.presented import Presented
from quaestor.documents.text_table import TextTable, headed
from quaestor.errors import TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quaestor.accounting.curves.profile import Profile, TheoremName
    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.releases import Release

__all__ = ["CurveQuestion", "Explanation", "ExplanationRow", "explain"]

_ADAPTIVE = (
    "valid only if every query is fixed before the first answer; an analyst who "
    "adapts queries to answers can learn more"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationRow:
    """One theorem's answer, or the reason why it gives none.

    Attributes:
        theorem: its name.
        source: where it is stated.
        bounds: an enclosure of the number the theorem promises; None where it promises none.
        note: why it does not apply, or what to know about the number.
        best: whether this is the answer that ``compose`` gives.

    >>> from quaestor import PureDP, compose
    >>> row = compose(PureDP(epsilon=0.5) * 2).explain(delta=0.0).best
    >>> row.best, row.bounds.upper
    (True, 1.0)
    """

    theorem: str
    source: str
    bounds: Bounds | None
    note: str
    best: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Presented):
    """The rows, for the question that was asked.

    >>> from quaestor import PureDP, compose
    >>> told = compose(PureDP(epsilon=0.5) * 2).explain(delta=0.0)
    >>> told.best.theorem, told.best.bounds.upper
    ('optimal', 1.0)
    """

    quantity: str
    given: str
    value: float
    rows: tuple[ExplanationRow, ...]

    def __iter__(self) -> Iterator[ExplanationRow]:
        """The rows, in the order of the theorems."""
        return iter(self.rows)

    @property
    def best(self) -> ExplanationRow:
        """The row of the answer that ``compose`` gives."""
        return next(row for row in self.rows if row.best)

    def to_dict(self) -> dict[str, Any]:
        """The rows as plain JSON values."""
        return {
            self.given: self.value,
            "rows": [
                {
                    "theorem": row.theorem,
                    "source": row.source,
                    self.quantity: None
                    if row.bounds is None
                    else {"lower": row.bounds.lower, "upper": row.bounds.upper},
                    "note": row.note,
                    "best": row.best,
                }
                for row in self.rows
            ],
        }

    def to_table(self) -> TextTable:
        """Every theorem with its number and its source; the best one is marked.

        >>> from quaestor import PureDP, compose
        >>> table = compose(PureDP(epsilon=0.25) * 8).explain(delta=1e-6).to_table()
        >>> table.title, table.rows[0]
        ('epsilon at delta = 1e-06', ['', 'basic', '2', 'Kairouz-Oh-Viswanath 3.1'])
        """
        rows = [
            [
                ">" if row.best else "",
                row.theorem,
                "-" if row.bounds is None else rounded_up(row.bounds.upper),
                row.source,
            ]
            for row in self.rows
        ]
        return TextTable(
            title=self._title(),
            headings=headed("", "theorem", f"#{self.quantity}", "stated in"),
            rows=rows,
            notes=[f"{row.theorem}: {row.note}" for row in self.rows if row.note],
            marked=frozenset(place for place, row in enumerate(self.rows) if row.best),
        )

    def _title(self) -> str:
        return f"{self.quantity} at {self.given} = {self.value!r}"

    def plot(self, *, log: bool | None = None, axes: Any = None) -> Any:
        """Draw one bar for each theorem, the best one in colour.

        ``log`` has a logarithmic axis; if left out, a delta has one, and an epsilon has none.
        Returns matplotlib's axes: those that are given, or new ones.

        >>> import quaestor as q
        >>> axes = q.compose(q.PureDP(epsilon=0.25) * 8).explain(delta=1e-6).plot()
        >>> axes.get_title(loc="left")
        'epsilon at delta = 1e-06'
        """
        from quaestor.figures.bars import Bar, plot_bars
        from quaestor.figures.style import given_or_new

        bars = []
        for row in self.rows:
            value = None if row.bounds is None else row.bounds.upper
            drawn = value if value is not None and 0.0 < value < math.inf else None
            words = "does not apply" if value is None else rounded_up(value)
            bars.append(Bar(row.theorem, drawn, words, row.best))
        logarithmic = self.quantity == "delta" if log is None else log
        with given_or_new(axes) as on:
            plot_bars(on, bars, title=self._title(), along=self.quantity, log=logarithmic)
            return on

    def __str__(self) -> str:
        """A plain table; the command line draws a prettier one."""
        lines = [self._title()]
        for row in self.rows:
            shown = "-" if row.bounds is None else rounded_up(row.bounds.upper, digits=TO_TYPE)
            mark = "*" if row.best else " "
            note = f"  ({row.note})" if row.note else ""
            lines.append(f"{mark} {row.theorem:<28}{shown:>12}  {row.source}{note}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveQuestion:
    """One number that is asked of a curve: epsilon at a delta, or delta at an epsilon."""

    quantity: str
    value: float

    @property
    def given(self) -> str:
        """What the value is one of."""
        return "delta" if self.quantity == "epsilon" else "epsilon"

    def __call__(self, profile: Profile) -> Bounds:
        """The curve's answer."""
        if self.quantity == "epsilon":
            return profile.epsilon_bounds(delta=self.value)
        return profile.delta_bounds(epsilon=self.value)

    def is_answered_by(self, bounds: Bounds) -> bool:
        """Whether the bounds say anything: every delta is at most 1."""
        return bounds.lower < (1.0 if self.quantity == "delta" else math.inf)


def explain(  # noqa: PLR0913  # what a theorem is asked about, and what it is held against
    ask: CurveQuestion,
    releases: Iterable[Release],
    *,
    black_boxes: Iterable[Release],
    chosen: Profile,
    answer: Bounds,
    in_advance: bool,
) -> Explanation:
    """Ask every theorem the same question about the same releases.

    ``black_boxes`` is what theorems about black boxes are asked about; ``chosen`` is the curve that
    ``compose`` uses, whose theorem is marked, and ``answer`` what ``compose`` says; ``in_advance``
    says whether every query is fixed before the first answer.
    """
    history, boxes = tuple(releases), tuple(black_boxes)
    known = {part.theorem.name: part for part in chosen.parts()}
    rows: list[ExplanationRow] = []

    def add(theorem: TheoremName, bounds: Bounds | None, note: str) -> None:
        if bounds is not None and not ask.is_answered_by(bounds):
            bounds, note = None, f"gives no bound at this {ask.given}"
        rows.append(
            ExplanationRow(
                theorem=theorem.name,
                source=theorem.source,
                bounds=bounds,
                note=note,
                best=theorem == chosen.theorem,
            )
        )

    for theorem in theorems.THEOREMS:
        if theorem.of_ranges and not any(map(has_range, history)):
            continue
        if theorem == chosen.theorem:
            add(theorem, answer, "")
            continue
        bounds, note = None, ""
        try:
            asked = history if theorem.white_box else boxes
            bounds = ask(known.get(theorem.name) or theorem.of(asked))
        except TheoremDoesNotApply as reason:
            note = reason.reason
        if theorem.in_advance and not in_advance:
            note = note or _ADAPTIVE
        add(theorem, bounds, note)
    if chosen.theorem not in theorems.THEOREMS:
        least = min(known.values(), key=lambda part: ask(part).upper)
        add(chosen.theorem, answer, f"here: {least.theorem.name}")
    return Explanation(quantity=ask.quantity, given=ask.given, value=ask.value, rows=tuple(rows))
