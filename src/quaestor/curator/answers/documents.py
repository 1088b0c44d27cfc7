"""Answers as tables of a text: Markdown, HTML and LaTeX."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from quaestor.curator.answers.shown import cells, facts, headings

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer

__all__ = ["to_html", "to_html_page", "to_latex", "to_markdown"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~])")
_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: 0.2rem 0.8rem; border-bottom: 1px solid #ccc; }}
ul {{ color: #555; padding-left: 1.2rem; }}
@media (prefers-color-scheme: dark) {{
body {{ background: #111; color: #ddd; }}
ul {{ color: #aaa; }}
}}
</style>
{body}
</html>
"""


def to_markdown(answer: Answer) -> str:
    """A table in the Markdown of GitHub and Pandoc, and a list of notes, receipt and cost."""
    heads = headings(answer)
    lines = [
        [_in_markdown(heading.text) for heading in heads],
        ["---:" if heading.right else "---" for heading in heads],
        *([_in_markdown(cell) for cell in row] for row in cells(answer)),
    ]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    below = "\n".join(f"- {_in_markdown(fact)}" for fact in facts(answer))
    return f"{table}\n\n{below}\n" if below else f"{table}\n"


def _in_markdown(text: str) -> str:
    """On one line, with nothing in it that Markdown would take for its own."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def to_html(answer: Answer) -> str:
    """A table and a list, without styles of its own but for the side of numbers."""
    heads = headings(answer)
    sides = ["right" if heading.right else "left" for heading in heads]

    def line(tag: str, texts: list[str]) -> str:
        inner = "".join(
            f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'
            for side, text in zip(sides, texts, strict=True)
        )
        return f"<tr>{inner}</tr>"

    rows = "\n".join(line("td", row) for row in cells(answer))
    head = line("th", [heading.text for heading in heads])
    table = f"<table>\n<thead>{head}</thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    below = "\n".join(f"<li>{escape(fact)}</li>" for fact in facts(answer))
    return f"{table}\n<ul>\n{below}\n</ul>" if below else table


def to_html_page(answer: Answer) -> str:
    """A page of its own that needs nothing from elsewhere."""
    title = f"Answer from {answer.dataset}"
    return _PAGE.format(title=escape(title), body=to_html(answer))


def to_latex(answer: Answer) -> str:
    """A ``tabular`` with the rules of the package booktabs; notes follow as comments."""
    heads = headings(answer)
    sides = "".join("r" if heading.right else "l" for heading in heads)
    lines = [
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        _latex_row([heading.text for heading in heads]),
        r"\midrule",
        *map(_latex_row, cells(answer)),
        r"\bottomrule",
        r"\end{tabular}",
        *(f"% {' '.join(fact.split())}" for fact in facts(answer)),
    ]
    return "\n".join(lines) + "\n"


def _latex_row(texts: list[str]) -> str:
    return " & ".join(_in_latex(text) for text in texts) + r" \\"


def _in_latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))
