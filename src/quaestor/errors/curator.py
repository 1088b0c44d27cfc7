"""Errors about catalogs, questions and engines."""

from __future__ import annotations

from typing import Any

from quaestor.errors.base import InvalidParameter, QuaestorError, pointed, shorter, shown

__all__ = [
    "EngineFailed",
    "InvalidCatalog",
    "MissingAddress",
    "RefusedQuery",
    "SourceUnavailable",
    "UnreadableTable",
]


class InvalidCatalog(InvalidParameter):
    """A catalog file does not say what it should; ``line`` (from 1) says where, if known.

    What to do: correct the line of the catalog as ``remedy`` says.

    >>> InvalidCatalog(file="q.toml", line=3, problem="no rows", remedy="write  rows = 20").line
    3
    """

    code = "invalid_catalog"

    def __init__(self, *, file: str, line: int | None, problem: str, remedy: str) -> None:
        where = file if line is None else f"{file}, line {line}"
        ValueError.__init__(self, f"{where}: {problem}; {remedy}")
        self.field, self.value, self.valid = "catalog", file, "a catalog file"
        self.file, self.line, self.problem, self.remedy = file, line, problem, remedy

    def fields(self) -> dict[str, Any]:
        """Where in which file, what is wrong there, and what to write instead."""
        return {
            "file": self.file,
            "line": self.line,
            "problem": self.problem,
            "remedy": self.remedy,
        }


class UnreadableTable(InvalidParameter):
    """The columns of a table cannot be read; what an engine said of its rows is not repeated.

    What to do: check the name, the format and the rights of the file or table; see ``remedy``.

    >>> wrong = UnreadableTable(place="visits.csv", problem="no such file", remedy="correct it")
    >>> wrong.place
    'visits.csv'
    """

    code = "unreadable_table"

    def __init__(self, *, place: str, problem: str, remedy: str) -> None:
        ValueError.__init__(self, f"{place}: {problem}; {remedy}")
        self.field, self.value, self.valid = "table", place, "a table that can be read"
        self.place, self.problem, self.remedy = place, problem, remedy

    def fields(self) -> dict[str, Any]:
        """Which table, what is wrong with it, and what to do."""
        return {"place": self.place, "problem": self.problem, "remedy": self.remedy}


class MissingAddress(InvalidParameter):
    """An environment variable that should hold the address of a server is not set.

    What to do: set the environment variable to the address of the server.

    >>> MissingAddress("CLINIC_DATABASE").fields()
    {'environment': 'CLINIC_DATABASE'}
    """

    code = "missing_address"

    def __init__(self, environment: str) -> None:
        ValueError.__init__(
            self,
            f"the environment variable {environment} is not set: "
            f"run  export {environment}=postgresql://user:password@host/database",
        )
        self.field, self.value, self.valid = "environment", environment, "a variable that is set"
        self.environment = environment

    def fields(self) -> dict[str, Any]:
        """The variable; what it holds is never shown."""
        return {"environment": self.environment}


class RefusedQuery(InvalidParameter):
    """A question was refused before any data were touched; ``remedy`` says what to ask instead.

    ``place`` counts characters of ``text`` from 0. ``line`` and ``column`` count from 1 and are
    ``None`` where the question was not written as text.

    What to do: ask what ``remedy`` proposes; a refusal costs nothing.

    >>> refused = RefusedQuery("MIN shows one person", remedy="ask for a quantile")
    >>> refused.at("SELECT MIN(age)", 7).column
    8
    """

    code = "refused_query"

    def __init__(
        self, reason: str, *, remedy: str = "", text: str | None = None, place: int | None = None
    ) -> None:
        sentence = f"{shorter(reason)}; {shorter(remedy)}" if remedy else shorter(reason)
        self.line: int | None = None
        self.column: int | None = None
        if text is not None and place is not None:
            place = min(max(place, 0), len(text))
            start = text.rfind("\n", 0, place) + 1
            self.line, self.column = text.count("\n", 0, place) + 1, place - start + 1
            line = text[start:].split("\n", 1)[0]
            sentence = f"line {self.line}, {pointed(line, self.column, sentence)}"
        ValueError.__init__(self, sentence)
        self.field, self.value, self.valid = "query", text, "a question that can be answered"
        self.reason, self.remedy = reason, remedy

    def at(self, text: str, place: int) -> RefusedQuery:
        """The same refusal, pointing to a place in the text of the question."""
        return RefusedQuery(self.reason, remedy=self.remedy, text=text, place=place)

    def fields(self) -> dict[str, Any]:
        """Why, what to do instead, and where in the text."""
        return {
            "reason": self.reason,
            "remedy": self.remedy,
            "line": self.line,
            "column": self.column,
        }


class SourceUnavailable(QuaestorError):
    """A table cannot be reached, or is not what the catalog says; no row was read.

    What to do: check that the file or the server is where the catalog says, and ask again.

    >>> SourceUnavailable("visits", "the server does not answer").fields()
    {'table': 'visits', 'problem': 'the server does not answer'}
    """

    code = "source_unavailable"

    def __init__(self, table: str, problem: str) -> None:
        super().__init__(f"table {shown(table)} cannot be queried: {problem}")
        self.table, self.problem = table, problem

    def fields(self) -> dict[str, Any]:
        """The table, and what stands in the way."""
        return {"table": self.table, "problem": self.problem}


class EngineFailed(QuaestorError):
    """A query failed on its engine. Always the same words: an engine's own may quote rows.

    What to do: check that the engine is up and has memory and space; the owner finds the cause in
    its logs.

    >>> EngineFailed().fields()
    {}
    """

    code = "engine_failed"

    def __init__(self) -> None:
        super().__init__(
            "the database could not answer (its own message is not shown, because it may "
            "contain private data): check that the server runs and has memory and disk "
            "space, then ask again"
        )
