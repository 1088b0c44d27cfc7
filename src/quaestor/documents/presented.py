"""What a notebook shows, and a paper takes in: results that are tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quaestor.documents.text_table import TextTable

__all__ = ["Presented"]


class Presented:
    """A result that says what its table is; notebooks, HTML, LaTeX and Markdown follow from it."""

    __slots__ = ()

    def to_table(self) -> TextTable:
        """The table as texts, with its title and notes."""
        raise NotImplementedError

    def to_html(self) -> str:
        """An HTML table with its notes below it."""
        return self.to_table().to_html()

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_latex(self) -> str:
        """A LaTeX table for the package booktabs."""
        return self.to_table().to_latex()

    def to_markdown(self) -> str:
        """A Markdown table with its notes below it."""
        return self.to_table().to_markdown()
