"""Several statements in one message to PostgreSQL, planned once for each connection.

The driver's cursors quote values into text, which the server has to read again each time. Here
values travel beside the statements, and what a charge consists of is planned when it is first sent:
that is most of the time for which others wait for the account's lock.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
from psycopg import generators, pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result

from quaestor.ledger.store.base import WAIT

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from psycopg.pq.abc import PGconn, PGresult

    from quaestor.ledger.store.base import Row

__all__ = ["PATIENCE", "BoundedConnection", "Statement", "exchange"]

PATIENCE = 1.5 * WAIT
"""How many seconds a server may take for one answer, before the connection counts as lost."""

Statement = tuple[str, dict[str, Any]]
"""The text, with parameters as ``:name``, and their values."""

_NAME = re.compile(r"(?<![:\w]):([a-z]+)")


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that waits for no answer for ever."""

    def __init__(self, *given: Any, **named: Any) -> None:
        """Nothing is planned yet."""
        super().__init__(*given, **named)
        self.planned: set[bytes] = set()
        self._values = Transformer(self)

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for an answer; a connection that brings none is closed."""
        try:
            return super().wait(gen, interval, PATIENCE if timeout is None else timeout)
        except psycopg.errors._WaitTimeout:  # noqa: SLF001  # its documented base says less
            self.pgconn.finish()
            raise psycopg.OperationalError("no answer") from None

    def rows(self, result: PGresult) -> list[Row]:
        """What a statement has brought."""
        self._values.set_pgresult(result)
        return self._values.load_rows(0, result.ntuples, tuple)

    def __del__(self, *_: Any) -> None:
        """Let the connection go without a warning: an interrupt may have dropped it."""


def exchange(
    connection: BoundedConnection, statements: Sequence[Statement], *, hot: dict[str, str]
) -> list[PGresult]:
    """Send all of these in one message, and wait for what each brings.

    Those that are ``hot`` are planned under a name. Nothing after one that fails is done, and the
    connection is of no use to anybody then.
    """
    server = connection.pgconn
    server.enter_pipeline_mode()
    answers = []  # False: of a plan
    for text, parameters in statements:
        plan = _planned_text(text, hot.get(text, ""))
        values = [_value(parameters[name]) for name in plan.parameters]
        if not plan.name:
            server.send_query_params(plan.text, values)
        else:
            if plan.name not in connection.planned:
                server.send_prepare(plan.name, plan.text)
                answers.append(False)
                connection.planned.add(plan.name)
            server.send_query_prepared(plan.name, values)
        answers.append(True)
    server.pipeline_sync()
    results = connection.wait(_answers(server, len(answers)))
    for result in results:
        if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
            raise error_from_result(result)
    server.exit_pipeline_mode()
    return [result for result, asked in zip(results, answers, strict=True) if asked]


def _answers(server: PGconn, count: int) -> Generator[Any, Any, list[PGresult]]:
    """One result for each statement; fewer if the connection ended after an error.

    A statement that is a transaction by itself is committed at the end of the message: what goes
    wrong there comes after its result.
    """
    results: list[PGresult] = []
    yield from generators.send(server)
    try:
        for _ in range(count):
            results += yield from generators.fetch_many(server)
        for end in (yield from generators.fetch_many(server)):  # of the message
            if end.status != pq.ExecStatus.PIPELINE_SYNC:
                raise error_from_result(end)
    except psycopg.Error:
        if all(result.status != pq.ExecStatus.FATAL_ERROR for result in results):
            raise
    return results


class _PlannedText(NamedTuple):
    """A statement as the server wants it: parameters by number, each name once."""

    name: bytes
    text: bytes
    parameters: tuple[str, ...]


@lru_cache(maxsize=256)
def _planned_text(statement: str, name: str) -> _PlannedText:
    names = tuple(dict.fromkeys(_NAME.findall(statement)))
    text = _NAME.sub(lambda found: f"${names.index(found[1]) + 1}", statement)
    return _PlannedText(name.encode(), text.encode(), names)


def _value(value: str | int | None) -> bytes | None:
    """A value as text; the type is that of the place where it goes."""
    if value is None:
        return None
    text = str(value).encode()
    if 0 in text:
        raise psycopg.DataError("a text with a character that cannot be stored")
    return text
