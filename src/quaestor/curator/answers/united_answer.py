"""One answer to several questions that were asked together: their rows, one below the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.answers.answer import Answer, AnswerColumn
from quaestor.curator.answers.outputs import answer_of, values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.kernel.figures import Released
    from quaestor.curator.language.compound import Compound
    from quaestor.curator.language.expressions import Kind, Value
    from quaestor.curator.pricing.offers import Offer

__all__ = ["united_answer"]

_ENDS = ("lower", "upper", "whole_lower", "whole_upper")


def united_answer(
    asked: Compound,
    offers: Sequence[Offer],
    released: Sequence[Released],
    *,
    sql: str | None = None,
) -> Answer:
    """The answer that the released figures of all parts make."""
    triples = list(zip(asked.parts, offers, released, strict=True))
    answers = [answer_of(*each) for each in triples]
    columns = [
        _united([answer.columns[place] for answer in answers], kind)
        for place, kind in enumerate(asked.kinds)
    ]
    rows = list(range(sum(map(len, answers))))
    for place, (_, descending) in reversed(list(enumerate(asked.order))):
        values: list[Value] = []
        for at, each in enumerate(triples):
            values += values_of(asked.order[place][0][at], *each)
        known = [row for row in rows if values[row] is not None]
        known.sort(key=values.__getitem__, reverse=descending)  # type: ignore[arg-type]  # of one kind
        rows = known + [row for row in rows if values[row] is None]
    shown = rows if asked.limit is None else rows[: asked.limit]
    return Answer(
        dataset=asked.dataset,
        columns=tuple(_taken(column, shown) for column in columns),
        confidence=answers[0].confidence,
        releases=tuple(release for answer in answers for release in answer.releases),
        notes=(*asked.notes, *_notes(asked, answers)),
        sql=sql,
    )


def _united(columns: Sequence[AnswerColumn], kind: Kind) -> AnswerColumn:
    """A column of all parts; what is exact in one part has no error there."""
    values = tuple(value for column in columns for value in column.values)
    if kind in {"integer", "real"}:
        whole = all(isinstance(value, int) for value in values if value is not None)
        kind = "integer" if kind == "integer" and whole else "real"
    joined: dict[str, tuple[Any, ...] | None] = {}
    for name in ("standard_errors", *_ENDS):
        if all(getattr(column, name) is None for column in columns):
            joined[name] = None
            continue
        joined[name] = tuple(each for column in columns for each in _held(column, name))
    return AnswerColumn(
        name=columns[0].name,
        kind=kind,
        values=values,
        approximate=any(column.approximate for column in columns),
        **joined,
    )


def _held(column: AnswerColumn, name: str) -> tuple[Any, ...]:
    held: tuple[Any, ...] | None = getattr(column, name)
    if held is not None:
        return held
    if column.figure:
        return (None,) * len(column.values)
    exact = name != "standard_errors"
    return tuple(
        None if value is None or isinstance(value, str | bool) else float(value) if exact else 0.0
        for value in column.values
    )


def _taken(column: AnswerColumn, rows: Sequence[int]) -> AnswerColumn:
    def some(values: tuple[Any, ...] | None) -> Any:
        return None if values is None else tuple(values[row] for row in rows)

    return AnswerColumn(
        name=column.name,
        kind=column.kind,
        values=some(column.values),
        standard_errors=some(column.standard_errors),
        approximate=column.approximate,
        **{name: some(getattr(column, name)) for name in _ENDS},
    )


def _notes(asked: Compound, answers: Sequence[Answer]) -> list[str]:
    """What all parts say, once; and what some say, with the part that says it."""
    found: list[str] = []
    for label, answer in zip(asked.labels, answers, strict=True):
        for note in answer.notes:
            common = all(note in other.notes for other in answers)
            words = note if common else f"{label}: {note}"
            if words not in found:
                found.append(words)
    return found
