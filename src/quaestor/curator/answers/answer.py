"""Answers: a table of released figures with their errors, what it cost, and its receipt."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from quaestor.documents.presented import Presented
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.accounting.releases import Release
    from quaestor.curator.language.expressions import Kind, Value
    from quaestor.documents.text_table import TextTable

__all__ = ["Answer", "AnswerColumn"]

_VERSION = 1
_WHOLE = ("whole_lower", "whole_upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerColumn:
    """A column: keys have values only, figures have errors too.

    ``lower`` and ``upper`` are the noise interval; ``whole_lower`` and ``whole_upper``, where they
    were paid for, also cover what limits cut, for units within the outer limits.

    ``approximate`` says that errors and intervals are those of the linearised figure; else the
    interval holds with at least the answer's confidence. A figure without a known error, such as a
    quantile, has None for it.
    """

    name: str
    kind: Kind
    values: tuple[Value, ...]
    standard_errors: tuple[float | None, ...] | None = None
    lower: tuple[float | None, ...] | None = None
    upper: tuple[float | None, ...] | None = None
    approximate: bool = False
    whole_lower: tuple[float | None, ...] | None = None
    whole_upper: tuple[float | None, ...] | None = None

    @property
    def figure(self) -> bool:
        """Whether it was released with noise."""
        return self.standard_errors is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Presented):
    """What an analyst gets: nothing in it was computed from private data but the releases.

    Counts and sums are as the noise left them, unbiased, even where that is impossible (a count
    below 0); their intervals are cut to what is possible. Means, variances and quantiles are
    moved into their bounds. ``epsilon`` is what the answer cost at ``delta``, and ``remaining``
    what is left of each meter of the account; both are filled in by whoever charges. ``repeated``
    says that it was given before and cost nothing now. That, and ``entry``, the ledger's own number
    of the charge, which may tell how often others have charged, are not written down.
    ``data_version`` is there from the first refresh of the data on.

    >>> from quaestor import Geometric
    >>> figures = AnswerColumn(name="n", kind="integer", values=(42,), lower=(33,), upper=(51,))
    >>> answer = Answer(
    ...     dataset="visits", columns=(figures,), confidence=0.95, releases=(Geometric(scale=3.0),)
    ... )
    >>> answer.column("n").values, Answer.from_json(answer.to_json()) == answer
    ((42,), True)
    """

    dataset: str
    columns: tuple[AnswerColumn, ...]
    confidence: float
    releases: tuple[Release, ...]
    notes: tuple[str, ...] = ()
    sql: str | None = None
    account: str | None = None
    receipt: int | None = None
    epsilon: float | None = None
    delta: float | None = None
    remaining: tuple[tuple[str, float], ...] = ()
    data_version: str = ""
    repeated: bool = field(default=False, compare=False)
    entry: int = field(default=0, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def column(self, name: str) -> AnswerColumn:
        """The column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise InvalidParameter("column", name, f"one of {[each.name for each in self.columns]}")

    def rows(self) -> Iterator[dict[str, Value]]:
        """The estimates, row by row."""
        for place in range(len(self)):
            yield {column.name: column.values[place] for column in self.columns}

    def to_json(self) -> str:
        """The answer as JSON text, from which :meth:`from_json` makes the same answer again."""
        written: dict[str, Any] = {"version": _VERSION}
        for each in fields(self):
            if each.compare and (each.name != "data_version" or self.data_version):
                written[each.name] = getattr(self, each.name)
        written["columns"] = [
            {
                each.name: getattr(column, each.name)
                for each in fields(column)
                if getattr(column, each.name) is not None or each.name not in _WHOLE
            }
            for column in self.columns
        ]
        written["releases"] = [release.to_dict() for release in self.releases]
        return json.dumps(written, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back what :meth:`to_json` wrote."""
        from quaestor.accounting.releases.codec import release_from_dict

        try:
            read = json.loads(text)
            if read.pop("version") != _VERSION:
                raise InvalidParameter("answer", "another version", f"of version {_VERSION}")
            columns = tuple(
                AnswerColumn(**{name: _tuples(value) for name, value in column.items()})
                for column in read.pop("columns")
            )
            releases = tuple(map(release_from_dict, read.pop("releases")))
            rest = {name: _tuples(value) for name, value in read.items()}
            return cls(columns=columns, releases=releases, **rest)
        except (TypeError, KeyError, AttributeError, json.JSONDecodeError):
            raise InvalidParameter("answer", text, "the JSON text of an answer") from None

    def to_csv(self) -> str:
        """Comma-separated text with a line of names; each figure is followed by its error."""
        from quaestor.curator.answers.frames import to_csv

        return to_csv(self)

    def to_arrow(self) -> Any:
        """A table of pyarrow; each figure is followed by its error and interval."""
        from quaestor.curator.answers.frames import to_arrow

        return to_arrow(self)

    def to_pandas(self) -> Any:
        """A data frame of pandas, with the columns of :meth:`to_arrow`."""
        from quaestor.curator.answers.frames import to_pandas

        return to_pandas(self)

    def to_polars(self) -> Any:
        """A data frame of polars, with the columns of :meth:`to_arrow`."""
        from quaestor.curator.answers.frames import to_polars

        return to_polars(self)

    def to_table(self) -> TextTable:
        """The table as people read it, with notes, receipt and cost below it."""
        from quaestor.curator.answers.documents import to_table

        return to_table(self)

    def save(self, path: str | Path, *, form: str | None = None) -> None:
        """Write it to a file, in the form that the file's ending asks for.

        ``.csv``, ``.json``, ``.parquet``, ``.arrow``, ``.xlsx``, ``.md``, ``.html``, ``.tex``, and
        ``.txt`` for a drawn table. ``form`` names one where the ending is another.
        """
        from quaestor.curator.answers.forms import form_for

        written = form_for(Path(path), name=form).written(self)
        Path(path).write_bytes(written.encode() if isinstance(written, str) else written)

    def plot(self, *, of: str | None = None, axes: Any = None) -> Any:
        """Draw a figure by its keys, with noise intervals: bars, or lines along dates and numbers.

        ``of`` names the figure, if it is not the first one. Returns matplotlib's axes: those that
        are given, or new ones.
        """
        from quaestor.curator.answers.pictures import plot

        return plot(self, of=of, axes=axes)

    def __rich__(self) -> Any:
        """A table for terminals: figures with their intervals."""
        from quaestor.curator.answers.frames import to_rich

        return to_rich(self)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
