"""Every theorem side by side: what it says, why it does not apply, and which one won."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.accounting.numerics.digits import rounded_up
from quaestor.accounting.theorems import THEOREMS
from quaestor.accounting.theorems.bounded_range import has_range
from quaestor.errors import TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.releases import Release

__all__ = ["Explanation", "ExplanationRow", "explain"]

_ADAPTIVE = (
    "true only if every query is fixed before the first answer: an analyst who chooses the next "
    "query by the answers so far can learn more"
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
    """

    theorem: str
    source: str
    bounds: Bounds | None
    note: str
    best: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The rows, for the question that was asked."""

    quantity: str
    given: str
    value: float
    rows: tuple[ExplanationRow, ...]

    def __iter__(self) -> Iterator[ExplanationRow]:
        """The rows, in the order of the theorems."""
        return iter(self.rows)

    @property
    def best(self) -> ExplanationRow:
        """The row of the tightest sound answer."""
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

    def __str__(self) -> str:
        """A plain table; the command line draws a prettier one."""
        lines = [f"{self.quantity} at {self.given} = {self.value!r}"]
        for row in self.rows:
            shown = "-" if row.bounds is None else rounded_up(row.bounds.upper)
            mark = "*" if row.best else " "
            note = f"  ({row.note})" if row.note else ""
            lines.append(f"{mark} {row.theorem:<28}{shown:>12}  {row.source}{note}")
        return "\n".join(lines)


def explain(  # noqa: PLR0913  # a question has as many parts
    releases: Iterable[Release],
    *,
    black_boxes: Iterable[Release],
    quantity: str,
    given: str,
    value: float,
    best: str | None,
    in_advance: bool,
    ask: Callable[[Profile], Bounds],
) -> Explanation:
    """Ask every theorem the same question about the same releases.

    ``black_boxes`` is what theorems about black boxes are asked about; ``best`` names the theorem
    that ``compose`` uses, or leaves it to the numbers; ``in_advance`` says whether every query is
    fixed before the first answer.
    """
    history, boxes = tuple(releases), tuple(black_boxes)
    ranged = any(map(has_range, history))
    answers: list[tuple[str, str, Bounds | None, str]] = []
    unsound: set[str] = set()
    for theorem in THEOREMS:
        if theorem.of_ranges and not ranged:
            continue
        bounds, note = None, ""
        try:
            bounds = ask(theorem.profile(history if theorem.white_box else boxes))
        except TheoremDoesNotApply as reason:
            note = reason.reason
        if theorem.in_advance and not in_advance:
            unsound.add(theorem.name)
            note = note or _ADAPTIVE
        if bounds is not None and bounds.lower >= (1.0 if quantity == "delta" else math.inf):
            bounds, note = None, f"says nothing at this {given}"
        answers.append((theorem.name, theorem.source, bounds, note))
    if best is None:
        best = min(
            (bounds.upper, name)
            for name, _, bounds, _ in answers
            if bounds is not None and name not in unsound
        )[1]
    return Explanation(
        quantity=quantity,
        given=given,
        value=value,
        rows=tuple(
            ExplanationRow(theorem=name, source=source, bounds=bounds, note=note, best=name == best)
            for name, source, bounds, note in answers
        ),
    )
