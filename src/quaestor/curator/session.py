"""The curator: asked in SQL, it answers from private tables out of an account of the ledger."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Self

from quaestor.curator.accounts import account_for, open_from_catalog
from quaestor.curator.answers.answer import Answer
from quaestor.curator.catalog.catalog_file import find_catalog, read_catalog
from quaestor.curator.engines.registry import engine_for, place_of, tables_of
from quaestor.curator.pipeline import claim, given_before, pay
from quaestor.curator.preview import preview
from quaestor.curator.pricing.priced_question import Budget, plan, price
from quaestor.errors import EngineFailed
from quaestor.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from quaestor.curator.builder.tables import Question
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.engines import Engine
    from quaestor.curator.language.query import Query
    from quaestor.curator.preview import Preview
    from quaestor.curator.pricing.accuracy import Accuracy
    from quaestor.curator.pricing.priced_question import Priced
    from quaestor.ledger import Account

__all__ = ["Curator"]


class Curator:
    """Answers questions about the tables of a catalog, and charges a ledger for them.

    ::

        with Curator.from_file("quaestor.toml") as curator:
            print(curator.preview("SELECT COUNT(*) FROM visits", epsilon=0.1).fits)
            answer = curator.ask("SELECT COUNT(*) FROM visits", epsilon=0.1)

    The way of a question: parse, plan, price; give the stored answer if there is one; reserve,
    durably; run on the engine; draw noise; settle. What is wrong before the reservation costs
    nothing and touches no data. What goes wrong afterwards is charged, and always the same error.

    Args:
        catalog: what the data owner has declared.
        ledger: an open ledger, if it is not the one that the catalog names.
        progress: told, in a few words, what is being done.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        ledger: Ledger | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        """Open the ledger; tables are reached when they are first asked about."""
        self.catalog = catalog
        self.progress = progress or _silent
        self._own = ledger is None
        self.ledger = Ledger(catalog.ledger_address()) if ledger is None else ledger
        self._accounts: dict[str, Account] = {}
        self._engines: dict[tuple[str, str | None], Engine] = {}
        self._lock = threading.Lock()

    @classmethod
    def from_file(cls, path: Path | str | None = None) -> Self:
        """A curator for a catalog file, or for the nearest ``quaestor.toml``."""
        return cls(read_catalog(find_catalog() if path is None else Path(path)))

    def __enter__(self) -> Self:
        """The curator itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of everything."""
        self.close()

    def close(self) -> None:
        """Let go of engines, and of the ledger if it was opened here."""
        with self._lock:
            engines, self._engines = list(self._engines.values()), {}
        for engine in engines:
            engine.close()
        if self._own:
            self.ledger.close()

    @property
    def corrections(self) -> int:
        """How many figures of engines had to be moved into their range: for the data owner alone.

        It is 0 as long as engines return what they are asked for. It depends on private data, and
        is no part of any answer.
        """
        with self._lock:
            return sum(engine.corrections for engine in self._engines.values())

    def open_account(self, name: str) -> Account:
        """Open an account as the catalog plans it: once, for good."""
        open_from_catalog(self.catalog, name, ledger=self.ledger)
        return self.account(name)

    def account(self, name: str) -> Account:
        """An account of the ledger, which is open."""
        if name not in self._accounts:
            self._accounts[name] = account_for(self.catalog, self.ledger, name=name)
        return self._accounts[name]

    def preview(  # noqa: PLR0913  # the ways to say how much, for what, and on whose account
        self,
        question: str | Question,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        accuracy: Accuracy | None = None,
        delta: float | None = None,
        account: str | None = None,
        analyst: str = "",
        rows: int | None = None,
        groups: int | None = None,
    ) -> Preview:
        """What a question would cost, and how accurate it would be; no data are touched.

        Where the account has quotas, an analyst is told of the own quota only.

        Args:
            question: SQL, or a question of the builder.
            epsilon: what it may cost, with geometric noise; or
            rho: what it may cost, with Gaussian noise; or
            accuracy: how accurate it is to be, at the least cost.
            delta: for private groups; a hundredth of the account's if left out.
            account: who pays, if more than one account covers the dataset.
            analyst: who asks; needed where the account has quotas.
            rows: how many rows of one unit count in a group, if fewer than declared.
            groups: in how many groups one unit counts, if fewer than declared.
        """
        budget = Budget(epsilon=epsilon, rho=rho, accuracy=accuracy, delta=delta)
        query = plan(question, self.catalog, rows=rows, groups=groups)
        payer, asked = self._priced(query, budget, question, account)
        free = given_before(payer, asked, analyst=analyst) is not None
        return preview(payer, asked, analyst=analyst, free=free)

    def ask(  # noqa: PLR0913  # as for a preview
        self,
        question: str | Question,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        accuracy: Accuracy | None = None,
        delta: float | None = None,
        account: str | None = None,
        analyst: str = "",
        purpose: str = "",
        rows: int | None = None,
        groups: int | None = None,
    ) -> Answer:
        """The answer to a question, charged to an account; parameters as for :meth:`preview`.

        The same question again gives the same answer, word for word, and costs nothing. If
        somebody is asking it just now, here or elsewhere, their answer is waited for; if somebody
        has paid for it and failed before noise was drawn, that charge is used. ``purpose`` is kept
        with the charge: why it is asked, in one line.

        Raises:
            RefusedQuery: the question is not allowed; nothing was charged.
            BudgetExceeded: the account cannot pay; nothing was charged. Where it has quotas, the
                error tells of the analyst's own quota, or nothing at all.
            AccountOverdrawn: by today's prices and theorems the account promised too much.
            EngineFailed: it could not be answered; if it was charged, the charge stays.
            AnswerPending: somebody else who asks the same is not done after ten minutes.
        """
        budget = Budget(epsilon=epsilon, rho=rho, accuracy=accuracy, delta=delta)
        query = plan(question, self.catalog, rows=rows, groups=groups)
        payer, asked = self._priced(query, budget, question, account)
        again = given_before(payer, asked, analyst=analyst)
        if again is not None:
            return again
        self.progress("planning")
        engine = self._checked(asked)
        found = claim(payer, asked, analyst=analyst, purpose=purpose)
        if isinstance(found, Answer):
            return found
        try:
            return pay(found, payer, asked, engine, progress=self.progress)
        except EngineFailed:
            self._forget(engine)
            raise

    def _priced(
        self, query: Query, budget: Budget, question: str | Question, account: str | None
    ) -> tuple[Account, Priced]:
        name = account or self._only(query.dataset)
        if name is None:
            payer = account_for(self.catalog, self.ledger, dataset=query.dataset)
        else:
            payer = self.account(name)
        sql = question if isinstance(question, str) else None
        return payer, price(query, budget, self.catalog, delta=payer.definition.delta, sql=sql)

    def _only(self, dataset: str) -> str | None:
        """The one account that the catalog plans for a dataset, if there is one."""
        names = [each.name for each in self.catalog.accounts if dataset in each.datasets]
        return names[0] if len(names) == 1 else None

    def _checked(self, asked: Priced) -> Engine:
        """The engine of the question's tables, which has planned it; no row is read."""
        tables = tuple(tables_of(asked.query.rows))
        declared = [table for name in tables if (table := self.catalog.table(name))]
        place = place_of(declared[0])
        with self._lock:
            engine = self._engines.get(place)
        if engine is None or any(place_of(table) != place for table in declared):
            opened = engine_for(self.catalog, tables)
            with self._lock:
                engine = self._engines.setdefault(place, opened)
            if engine is not opened:  # somebody else was quicker
                opened.close()
        try:
            engine.prepare(asked.offer.measurement)
        except EngineFailed:
            self._forget(engine)
            raise
        return engine

    def _forget(self, engine: Engine) -> None:
        """Open the next one anew: a connection that failed may be broken."""
        with self._lock:
            self._engines = {p: each for p, each in self._engines.items() if each is not engine}


def _silent(_doing: str) -> None:
    """Tell nobody."""
