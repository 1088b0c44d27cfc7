"""Answers as tables of a text, and as a page of their own."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from quaestor.curator.answers.shown import cells, facts, headings
from quaestor.documents.text_table import TextTable

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer

__all__ = ["to_html_page", "to_table"]

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


def to_table(answer: Answer) -> TextTable:
    """Every figure with its intervals; notes, receipt and cost below."""
    return TextTable(headings=headings(answer), rows=cells(answer), notes=facts(answer))


def to_html_page(answer: Answer) -> str:
    """A page of its own that needs nothing from elsewhere."""
    title = f"Answer from {answer.dataset}"
    return _PAGE.format(title=escape(title), body=answer.to_html())
