"""Several questions in one text, with semicolons between them."""

from __future__ import annotations

from quaestor.curator.sql.text import tokens_of

__all__ = ["LONGEST_TEXT", "question_texts"]

LONGEST_TEXT = 200_000


def question_texts(text: str) -> list[str]:
    r"""The questions of a text, in order; a semicolon in quotes or in a comment ends none.

    A text that cannot be read is one question: whoever asks it is told what is wrong.

    >>> question_texts("SELECT 'a;b' FROM t; -- then;\nSELECT 2;")
    ["SELECT 'a;b' FROM t", '-- then;\nSELECT 2']
    """
    from sqlglot.errors import SqlglotError

    try:
        tokens = tokens_of(text)
    except SqlglotError:
        return [text]
    ends = [token.start for token in tokens if token.token_type.name == "SEMICOLON"]
    parts = [text[a + 1 : b].strip() for a, b in zip([-1, *ends], [*ends, len(text)], strict=True)]
    return [part for part in parts if part]
