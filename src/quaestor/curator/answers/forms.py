"""The forms in which an answer can be written, and which one a file's name asks for."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from quaestor.curator.answers.answer import Answer

__all__ = ["FORMS", "Form", "form_for"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A way to write an answer down."""

    name: str
    endings: tuple[str, ...]
    """Of files that are read as this; the first one is the usual one."""
    written: Callable[[Answer], str | bytes]
    """Text for terminals and files, or the bytes of a file."""
    text: bool = True


def _table(answer: Answer) -> str:
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, highlight=False, width=200).print(answer)
    return stream.getvalue()


def _arrow(answer: Answer) -> bytes:
    from pyarrow import feather

    stream = io.BytesIO()
    feather.write_feather(answer.to_arrow(), stream, compression="uncompressed")
    return stream.getvalue()


def _parquet(answer: Answer) -> bytes:
    table = answer.to_arrow()
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(table, stream)
    return stream.getvalue()


def _workbook(answer: Answer) -> bytes:
    from quaestor.curator.answers.workbook import to_workbook

    return to_workbook(answer)


def _page(answer: Answer) -> str:
    from quaestor.curator.answers.documents import to_html_page

    return to_html_page(answer)


FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form(name="table", endings=(".txt", ".table"), written=_table),
        Form(name="csv", endings=(".csv",), written=lambda answer: answer.to_csv()),
        Form(name="json", endings=(".json",), written=lambda answer: answer.to_json() + "\n"),
        Form(name="markdown", endings=(".md",), written=lambda answer: answer.to_markdown()),
        Form(name="html", endings=(".html", ".htm"), written=_page),
        Form(name="latex", endings=(".tex",), written=lambda answer: answer.to_latex()),
        Form(name="arrow", endings=(".arrow", ".feather"), written=_arrow, text=False),
        Form(name="parquet", endings=(".parquet",), written=_parquet, text=False),
        Form(name="xlsx", endings=(".xlsx",), written=_workbook, text=False),
    )
}


def form_for(path: Path, *, name: str | None = None) -> Form:
    """The form that a file's ending asks for, or the one that is named.

    Raises:
        InvalidParameter: nobody knows the ending and no form is named, or the two contradict.
    """
    ending = path.suffix.lower()
    found = next((form for form in FORMS.values() if ending in form.endings), None)
    if name is None:
        if found is None:
            known = ", ".join(form.endings[0] for form in FORMS.values())
            raise InvalidParameter("--out", str(path), f"a file that ends in one of {known}")
        return found
    if found is not None and found.name != name:
        valid = f"a file that ends in {FORMS[name].endings[0]} where the format is {name}"
        raise InvalidParameter("--out", str(path), valid)
    return FORMS[name]
