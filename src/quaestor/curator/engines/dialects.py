"""Where engines differ in what cannot be written the same for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from quaestor.curator.engines.builtins import builtin

__all__ = ["Dialect"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One engine's way to say things."""

    name: Literal["duckdb", "postgres", "spark"]

    def ordered(self, text: Any) -> Any:
        """A value that sorts as the bytes of the text do, whatever the database's language."""
        if self.name != "postgres":
            return text
        return builtin("convert_to")(text, "UTF8")

    def like(self, text: Any, pattern: str) -> Any:
        """Match ``%`` and ``_``; a backslash is itself, though here and there it escapes."""
        return text.like(pattern if self.name == "duckdb" else pattern.replace("\\", "\\\\"))

    def md5(self, text: Any) -> Any:
        """The MD5 of a text in hexadecimal digits, as something that sorts alike everywhere."""
        return self.ordered(builtin("md5")(text))

    def divisor(self, value: Any) -> Any:
        """A divisor that gives NULL if it is zero.

        DuckDB and Spark do that by themselves, with the settings of their connections; DuckDB also
        writes NULLIF out, so that expressions of nested ones would grow exponentially.
        """
        return value.nullif(0) if self.name == "postgres" else value

    def is_nan(self, value: Any) -> Any:
        """Whether a number is NaN; PostgreSQL's decimals can be."""
        if value.type().is_floating():
            return value.isnan()
        return value.cast("string") == "NaN" if self.name == "postgres" else None
