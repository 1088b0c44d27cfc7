"""A table of texts with a title and notes, and the forms that documents take it in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Heading", "TextTable", "headed"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~])")
_CAPTION = "caption-side: top; text-align: left; font-weight: 600"
_NUMBERS = "; font-variant-numeric: tabular-nums"


class Heading(NamedTuple):
    """What stands above a column, and on which side its cells are."""

    text: str
    right: bool


def headed(*columns: str) -> tuple[Heading, ...]:
    """Headings; columns that start with ``#`` hold numbers and go to the right.

    >>> headed("dataset", "#left")
    (Heading(text='dataset', right=False), Heading(text='left', right=True))
    """
    return tuple(Heading(text.removeprefix("#"), text.startswith("#")) for text in columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    r"""Rows of texts under headings; every text is shown as it is, whatever signs it has.

    >>> table = TextTable(headings=headed("meter", "#used"), rows=[["R&D", "5 %"]], notes=["a < b"])
    >>> print(table.to_latex())
    \begin{tabular}{lr}
    \toprule
    meter & used \\
    \midrule
    R\&D & 5 \% \\
    \bottomrule
    \end{tabular}
    % a < b
    <BLANKLINE>
    """

    headings: Sequence[Heading]
    rows: Sequence[Sequence[str]]
    title: str = ""
    notes: Sequence[str] = ()
    marked: frozenset[int] = frozenset()
    """The rows that are set in bold."""

    def to_html(self) -> str:
        """A table and a list of notes: no script, no colour, so that it suits light and dark."""
        title = f'<caption style="{_CAPTION}">{escape(self.title)}</caption>\n'
        head = self._html_row("th", [heading.text for heading in self.headings], bold=False)
        rows = "\n".join(
            self._html_row("td", row, bold=place in self.marked)
            for place, row in enumerate(self.rows)
        )
        table = (
            f"<table>\n{title if self.title else ''}"
            f"<thead>{head}</thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
        )
        below = "\n".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"{table}\n<ul>\n{below}\n</ul>" if below else table

    def _html_row(self, tag: str, texts: Sequence[str], *, bold: bool) -> str:
        weight = "; font-weight: 600" if bold else ""
        cells = "".join(
            f'<{tag} style="text-align: {"right" if heading.right else "left"}'
            f'{_NUMBERS if heading.right else ""}{weight}">{escape(text)}</{tag}>'
            for heading, text in zip(self.headings, texts, strict=True)
        )
        return f"<tr>{cells}</tr>"

    def to_latex(self) -> str:
        """A ``tabular`` with the rules of the package booktabs; the notes follow as comments."""
        sides = "".join("r" if heading.right else "l" for heading in self.headings)
        lines = [
            *([f"% {one_line(self.title)}"] if self.title else []),
            rf"\begin{{tabular}}{{{sides}}}",
            r"\toprule",
            _latex_row([heading.text for heading in self.headings]),
            r"\midrule",
            *(_latex_row(row, bold=place in self.marked) for place, row in enumerate(self.rows)),
            r"\bottomrule",
            r"\end{tabular}",
            *(f"% {one_line(note)}" for note in self.notes),
        ]
        return "\n".join(lines) + "\n"

    def to_markdown(self) -> str:
        """A table in the Markdown of GitHub and Pandoc, and a list of notes."""
        lines = [
            [_in_markdown(heading.text) for heading in self.headings],
            ["---:" if heading.right else "---" for heading in self.headings],
            *([_in_markdown(cell) for cell in row] for row in self.rows),
        ]
        title = f"{_in_markdown(self.title)}\n\n" if self.title else ""
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        below = "\n".join(f"- {_in_markdown(note)}" for note in self.notes)
        return f"{title}{table}\n\n{below}\n" if below else f"{title}{table}\n"


def one_line(text: str) -> str:
    """The same words with a single blank between them."""
    return " ".join(text.split())


def _in_markdown(text: str) -> str:
    """On one line, with nothing in it that Markdown would take for its own."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _latex_row(texts: Iterable[str], *, bold: bool = False) -> str:
    cells = [_in_latex(text) for text in texts]
    if bold:
        cells = [rf"\textbf{{{cell}}}" if cell else "" for cell in cells]
    return " & ".join(cells) + r" \\"


def _in_latex(text: str) -> str:
    """On one line, without control signs, with nothing in it that LaTeX would take for its own."""
    plain = (sign if sign.isprintable() else " " for sign in text)
    return "".join(_LATEX.get(sign, sign) for sign in one_line("".join(plain)))
