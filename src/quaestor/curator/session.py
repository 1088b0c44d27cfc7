"""The curator: asked in SQL, it answers from private tables out of an account of the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from quaestor.curator.accounts import declared_for, open_from_catalog
from quaestor.curator.catalog.catalog_file import find_catalog, read_catalog
from quaestor.curator.engines.engine import EnginePool
from quaestor.curator.pipeline import Inquiry, answered, given_before, priced, submitted
from quaestor.curator.preview import preview
from quaestor.curator.pricing.priced_question import Budget
from quaestor.errors import InvalidParameter, UnknownAccount
from quaestor.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.builder.tables import Question
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.preview import Preview
    from quaestor.curator.pricing.accuracy import Accuracy
    from quaestor.ledger import Account

__all__ = ["Curator", "OpenAccounts"]


class Curator:
    """Answers questions about the tables of a catalog, and charges a ledger for them.

    ::

        with Curator.from_file("quaestor.toml") as curator:
            print(curator.preview("SELECT COUNT(*) FROM visits", epsilon=0.1).fits)
            answer = curator.ask("SELECT COUNT(*) FROM visits", epsilon=0.1)

    The way of a question is that of :mod:`quaestor.curator.pipeline`. What is wrong before the
    reservation costs nothing and touches no data. What goes wrong afterwards is charged, and always
    the same error.

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
        self._accounts = OpenAccounts(catalog, self.ledger)
        self._engines = EnginePool(catalog)

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
        self._engines.close()
        if self._own:
            self.ledger.close()

    @property
    def corrections(self) -> int:
        """How many figures of engines had to be moved into their range: for the data owner alone.

        It is 0 as long as engines return what they are asked for. It depends on private data, and
        is no part of any answer.
        """
        return self._engines.corrections

    def open_account(self, name: str) -> Account:
        """Open an account as the catalog plans it: once, for good."""
        open_from_catalog(self.catalog, name, ledger=self.ledger)
        return self.account(name)

    def account(self, name: str) -> Account:
        """An account of the ledger, which is open."""
        return self._accounts.account(name)

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
        anew: bool = False,
        member_of: tuple[str, ...] = (),
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
            anew: to pay for another answer, though there may be one: of refreshed data, perhaps.
            member_of: the groups that the analyst is in, whose answers are free.
        """
        inquiry = Inquiry(
            question=question,
            budget=Budget(epsilon=epsilon, rho=rho, accuracy=accuracy, delta=delta),
            account=account,
            analyst=analyst,
            rows=rows,
            groups=groups,
            anew=anew,
            member_of=member_of,
        )
        payer, asked = priced(inquiry, catalog=self.catalog, accounts=self._accounts)
        free = not anew and given_before(payer, asked, inquiry) is not None
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
        anew: bool = False,
        approval: str = "",
        audience: str = "",
        member_of: tuple[str, ...] = (),
    ) -> Answer:
        """The answer to a question, charged to an account; parameters as for :meth:`preview`.

        The same question again gives the same answer, word for word, and costs nothing, unless
        it is asked ``anew``: that is always charged, and the earlier answer is kept. If
        somebody is asking it just now, here or elsewhere, their answer is waited for; if somebody
        has paid for it and failed before noise was drawn, that charge is used. ``purpose`` is kept
        with the charge: why it is asked, in one line. ``approval`` is what :meth:`submit` has
        returned, where the account demands approval. ``audience`` is who may see the answer:
        ``analyst``, ``everybody`` or ``group:NAME``, as for :meth:`Account.reserve`.

        Raises:
            RefusedQuery: the question is not allowed; nothing was charged.
            SourceKnown: the rows were paid for under another name; nothing was charged.
            BudgetExceeded: the account cannot pay; nothing was charged. Where it has quotas, the
                error tells of the analyst's own quota, or nothing at all.
            AccountOverdrawn: by today's prices and theorems the account promised too much.
            ApprovalNeeded: the account demands approval, and there is none for exactly this.
            EngineFailed: it could not be answered; if it was charged, the charge stays.
            AnswerPending: somebody else who asks the same is not done after ten minutes.
        """
        inquiry = Inquiry(
            question=question,
            budget=Budget(epsilon=epsilon, rho=rho, accuracy=accuracy, delta=delta),
            account=account,
            analyst=analyst,
            purpose=purpose,
            rows=rows,
            groups=groups,
            anew=anew,
            approval=approval,
            audience=audience,
            member_of=member_of,
        )
        return answered(
            inquiry,
            catalog=self.catalog,
            accounts=self._accounts,
            engines=self._engines,
            progress=self.progress,
        )

    def submit(  # noqa: PLR0913  # as for a preview
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
    ) -> tuple[str, str]:
        """Ask for approval of a question; parameters as for :meth:`ask`. It costs nothing.

        Returns the account's name, and the id: once somebody else has approved it, :meth:`ask`
        with the same parameters and ``approval=`` answers it.
        """
        inquiry = Inquiry(
            question=question,
            budget=Budget(epsilon=epsilon, rho=rho, accuracy=accuracy, delta=delta),
            account=account,
            analyst=analyst,
            purpose=purpose,
            rows=rows,
            groups=groups,
        )
        payer, made = submitted(inquiry, catalog=self.catalog, accounts=self._accounts)
        return payer.name, made


def _silent(_doing: str) -> None:
    """Tell nobody."""


class OpenAccounts:
    """The accounts of a ledger that pay for questions; each is looked up once.

    Raises:
        UnknownAccount: it is not open; the error says what to run, if the catalog plans it.
    """

    def __init__(self, catalog: Catalog, ledger: Ledger) -> None:
        self.catalog, self.ledger = catalog, ledger
        self._known: dict[str, Account] = {}
        self._declared = declared_for(catalog, catalog.datasets)

    def declare(self, account: Account, *, dataset: str) -> None:
        """Record what the catalog declares of a dataset, if that has changed."""
        account.declare(dataset, self._declared[dataset])

    def account(self, name: str) -> Account:
        """The account of that name."""
        if name not in self._known:
            self._known[name] = self._named(name)
        return self._known[name]

    def payer(self, name: str | None, *, dataset: str) -> Account:
        """The account of that name or, without one, the only one on the dataset.

        The only one that the catalog plans, or else the only one that is open. An account that
        has a successor does not count: it is closed.
        """
        plans = [each for each in self.catalog.accounts if dataset in each.datasets]
        planned = [each.name for each in plans if each.name not in {p.succeeds for p in plans}]
        if name or len(planned) == 1:
            return self.account(name or planned[0])
        found = [each for each in self.ledger.accounts() if dataset in each.definition.datasets]
        old = {each.definition.succeeds for each in found}
        found = [each for each in found if each.name not in old]
        if len(found) == 1:
            return self.ledger.account(found[0].name)
        if found or planned:
            names = sorted({each.name for each in found} | set(planned))
            valid = f"one of those on {dataset!r}: {', '.join(names)}"
            raise InvalidParameter("account", None, valid)
        raise InvalidParameter(
            "account",
            None,
            f"one that covers the dataset {dataset!r}, and there is none yet: plan one in the "
            "catalog ([accounts.NAME], epsilon, delta) and run  quaestor account open NAME",
        )

    def _named(self, name: str) -> Account:
        try:
            return self.ledger.account(name)
        except UnknownAccount as error:
            unknown = error
        if self.catalog.account(name) is not None:
            unknown = _to_be_opened(name)
        raise unknown


def _to_be_opened(name: str) -> UnknownAccount:
    return UnknownAccount(
        name,
        near=None,
        remedy=f"the catalog plans it, and it is not open yet: run  quaestor account open {name}",
    )
