"""The curator: asked in SQL, it answers from private tables out of an account of the ledger."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from quaestor.curator.accounts import declared_for, open_from_catalog
from quaestor.curator.catalog.catalog_file import find_catalog, read_catalog
from quaestor.curator.engines.engine import EnginePool
from quaestor.curator.inquiry import Inquiry, auto_of
from quaestor.curator.pipeline import answered, priced, submitted
from quaestor.curator.plan_question import PlanQuestion
from quaestor.curator.pricing.priced_question import Budget, plan, price
from quaestor.curator.stored_answers import given_before, kept_answer
from quaestor.errors import InvalidParameter, UnknownAccount
from quaestor.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.builder.tables import AnyQuestion
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.engines.engine_work import EngineWork
    from quaestor.curator.limits.tune_plan import TunePlan
    from quaestor.curator.preview import Preview
    from quaestor.curator.pricing.accuracy import Accuracy
    from quaestor.curator.pricing.budget_shares import Noise
    from quaestor.curator.question_batch import QuestionBatch
    from quaestor.curator.tuned_tables import TunedTable
    from quaestor.errors import QuaestorError
    from quaestor.ledger import Account

__all__ = ["Curator", "OpenAccounts"]


class Curator:
    r"""Answers questions about the tables of a catalog, and charges a ledger for them.

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
        time_step: if not 0, new answers, and failures after a charge, come a whole number of steps
            of so many seconds after the engine began: how long it took says little then.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> catalog = '''
    ... [tables.visits]
    ... file = "visits.csv"
    ... unit = "patient"
    ... rows = 2
    ... groups = 1
    ... [tables.visits.columns]
    ... patient = { kind = "integer" }
    ... [accounts.trial]
    ... epsilon = 1.0
    ... delta = 1e-6
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "visits.csv").write_text("patient\n1\n2\n")
    ...     _ = Path(folder, "quaestor.toml").write_text(catalog)
    ...     with Curator.from_file(Path(folder, "quaestor.toml")) as curator:
    ...         _ = curator.open_account("trial")
    ...         answer = curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.25)
    ...         answer.epsilon <= 0.25, answer.receipt
    (True, 1)
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        ledger: Ledger | None = None,
        progress: Callable[[str], None] | None = None,
        time_step: float = 0.0,
    ) -> None:
        """Open the ledger; tables are reached when they are first asked about."""
        self.catalog, self.time_step = catalog, time_step
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

    def work(self) -> list[EngineWork]:
        """What engines have under way, in tasks of their own: for the data owner alone.

        It depends on private data, and is no part of any answer. Spark tells; others do not.
        """
        return self._engines.work()

    def warm_up(self) -> None:
        """Plan a count of every private table: the first question then takes no longer than others.

        Engines are reached and tables opened; no row is read.
        """
        from quaestor.curator.builder.tables import count
        from quaestor.curator.builder.tables import table as built_table

        for table in self.catalog.tables:
            if table.private:
                query = plan(built_table(table.name).aggregate(n=count()), self.catalog)
                asked = price(query, Budget(epsilon=1.0), self.catalog, delta=0.0)
                self._engines.prepared(asked.offer.measurement)

    def open_account(self, name: str) -> Account:
        """Open an account as the catalog plans it: once, for good."""
        open_from_catalog(self.catalog, name, ledger=self.ledger)
        return self.account(name)

    def account(self, name: str) -> Account:
        """An account of the ledger, which is open."""
        return self._accounts.account(name)

    def preview(  # noqa: PLR0913  # the ways to say how much, for what, and on whose account
        self,
        question: str | AnyQuestion,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        accuracy: Accuracy | None = None,
        delta: float | None = None,
        quantile_intervals: bool = True,
        account: str | None = None,
        analyst: str = "",
        rows: int | None = None,
        groups: int | None = None,
        anew: bool = False,
        member_of: tuple[str, ...] = (),
        whole_error: bool | None = None,
        noise: Noise | None = None,
    ) -> Preview:
        """What a question would cost, and how accurate it would be; no data are touched.

        Where the account has quotas, an analyst is told of the own quota only.

        Args:
            question: SQL, or a question of the builder.
            epsilon: what it may cost at the account's delta; or
            rho: what it may cost, with Gaussian noise; or
            accuracy: how accurate it is to be, at the least cost.
            delta: for private groups; a hundredth of the account's if left out.
            quantile_intervals: whether quantiles buy an interval with a quarter of their budget.
            account: who pays, if more than one account covers the dataset.
            analyst: who asks; needed where the account has quotas.
            rows: how many rows of one unit count in a group, if fewer than declared.
            groups: in how many groups one unit counts, if fewer than declared.
            anew: to pay for another answer, though there may be one: of refreshed data, perhaps.
            member_of: the groups that the analyst is in, whose answers are free.
            whole_error: whether a tenth of it pays for intervals that also cover what caps and
                bounds cut; if left out, where the account lets analysts choose their questions.
            noise: ``geometric``, where no other is wanted; if left out, what is best for the
                question on the account, as ``notes`` say. An accuracy may say ``gaussian`` too.
        """
        inquiry = Inquiry(
            question=question,
            budget=Budget(
                epsilon=epsilon,
                rho=rho,
                accuracy=accuracy,
                delta=delta,
                quantile_intervals=quantile_intervals,
                whole_error=whole_error,
                wanted_noise=noise,
            ),
            account=account,
            analyst=analyst,
            rows=rows,
            groups=groups,
            anew=anew,
            member_of=member_of,
        )
        return self.previewed(inquiry)

    def previewed(self, inquiry: Inquiry) -> Preview:
        """What :meth:`preview` says, of an inquiry."""
        from quaestor.curator.preview import preview

        auto = auto_of(inquiry)
        if auto is not None:
            from quaestor.curator.auto_bounds import preview_auto

            return preview_auto(auto, inquiry, catalog=self.catalog, accounts=self._accounts)
        payer, asked = priced(inquiry, catalog=self.catalog, accounts=self._accounts)
        free = not inquiry.anew and given_before(payer, asked, inquiry) is not None
        return preview(payer, asked, analyst=inquiry.analyst, free=free)

    def ask(  # noqa: PLR0913  # as for a preview
        self,
        question: str | AnyQuestion,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        accuracy: Accuracy | None = None,
        delta: float | None = None,
        quantile_intervals: bool = True,
        account: str | None = None,
        analyst: str = "",
        purpose: str = "",
        rows: int | None = None,
        groups: int | None = None,
        anew: bool = False,
        approval: str = "",
        audience: str = "",
        member_of: tuple[str, ...] = (),
        whole_error: bool | None = None,
        noise: Noise | None = None,
    ) -> Answer:
        """The answer to a question, charged to an account; parameters as for :meth:`preview`.

        The same question again gives the same answer, word for word, and costs nothing, unless
        it is asked ``anew``: that is always charged, and the earlier answer is kept. If
        somebody is asking it just now, here or elsewhere, their answer is waited for; if somebody
        has paid for it and failed before noise was drawn, that charge is used. ``purpose`` is kept
        with the charge: why it is asked, in one line. ``approval`` is what :meth:`submit` has
        returned, where the account demands approval. ``audience`` is who may see the answer:
        ``analyst``, ``everybody`` or ``group:NAME``, as for ``Account.reserve``.

        ``AVG(AUTO(cost))`` in SQL chooses bounds of a column privately: a fifth of ``epsilon`` pays
        for a noisy histogram, which is an answer of its own, and the rest for the question. The
        notes say which bounds they are; ``epsilon`` of the answer is what both have cost.

        Raises:
            RefusedQuery: the question is not allowed; nothing was charged, but where AUTO finds no
                bounds: then the histogram was, and the error says so.
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
            budget=Budget(
                epsilon=epsilon,
                rho=rho,
                accuracy=accuracy,
                delta=delta,
                quantile_intervals=quantile_intervals,
                whole_error=whole_error,
                wanted_noise=noise,
            ),
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
        return self.answered(inquiry)

    def answered(
        self, inquiry: Inquiry, *, progress: Callable[[str], None] | None = None
    ) -> Answer:
        """What :meth:`ask` answers, of an inquiry, with a progress of its own."""
        auto = auto_of(inquiry)
        way = answered
        if auto is not None:
            from quaestor.curator.auto_bounds import answered_auto

            way = partial(answered_auto, auto)
        return way(
            inquiry,
            catalog=self.catalog,
            accounts=self._accounts,
            engines=self._engines,
            progress=progress or self.progress,
            time_step=self.time_step,
        )

    def ask_many(  # noqa: PLR0913  # as for one question
        self,
        questions: Sequence[PlanQuestion],
        *,
        account: str | None = None,
        analyst: str = "",
        purpose: str = "",
        anew: bool = False,
        approval: str = "",
        audience: str = "",
        member_of: tuple[str, ...] = (),
    ) -> list[Answer | QuaestorError]:
        r"""The answers to questions, asked in order; parameters as for :meth:`ask`.

        Each question is charged, answered or refused by itself, at the same price and with the
        same noise as if it were asked alone after those before it. Questions about the same rows
        and groups are measured by one statement: the tables are read as seldom as possible. All
        that are measured together are charged before the first of them is drawn.

        Returns, for each question, its answer, or the error that asking it alone would raise.

        Args:
            questions: a list of :class:`PlanQuestion`.
            account: who pays, if more than one account covers the dataset.
            analyst: who asks; needed where the account has quotas.
            purpose: why, for questions that say none themselves.
            anew: to pay for other answers, though there may be some.
            approval: what :meth:`submit_plan` has returned, where the account demands approval.
            audience: who may see the answers, as for :meth:`ask`.
            member_of: the groups that the analyst is in, whose answers are free.

        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> catalog = '''
        ... [tables.visits]
        ... file = "visits.csv"
        ... unit = "patient"
        ... rows = 2
        ... groups = 1
        ... [tables.visits.columns]
        ... patient = { kind = "integer" }
        ... age = { kind = "integer", low = 0, high = 120 }
        ... [accounts.trial]
        ... epsilon = 1.0
        ... delta = 1e-6
        ... '''
        >>> asked = [
        ...     PlanQuestion(question="SELECT COUNT(*) AS n FROM visits", epsilon=0.25),
        ...     PlanQuestion(question="SELECT SUM(age) AS s FROM visits", epsilon=50.0),
        ...     PlanQuestion(question="SELECT AVG(age) AS a FROM visits", epsilon=0.25),
        ... ]
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "visits.csv").write_text("patient,age\n1,40\n2,50\n")
        ...     _ = Path(folder, "quaestor.toml").write_text(catalog)
        ...     with Curator.from_file(Path(folder, "quaestor.toml")) as curator:
        ...         _ = curator.open_account("trial")
        ...         for one in curator.ask_many(asked):
        ...             print(type(one).__name__)
        Answer
        BudgetExceeded
        Answer
        """
        inquiries = [
            replace(each, anew=anew, approval=approval, audience=audience, member_of=member_of)
            for each in _plan_inquiries(questions, account, analyst, purpose)
        ]
        return self.answered_many(inquiries)

    def answered_many(self, inquiries: Sequence[Inquiry]) -> list[Answer | QuaestorError]:
        """What :meth:`ask_many` returns, of inquiries."""
        return self._batch(self.progress).outcomes(inquiries)

    def answering(
        self, inquiries: Sequence[Inquiry], *, progress: Callable[[str], None] | None = None
    ) -> Iterator[tuple[int, Answer | Exception]]:
        """The place of each inquiry and its outcome, as soon as that is known."""
        return self._batch(progress or self.progress).each(inquiries)

    def _batch(self, progress: Callable[[str], None]) -> QuestionBatch:
        from quaestor.curator.question_batch import QuestionBatch

        return QuestionBatch(
            catalog=self.catalog,
            accounts=self._accounts,
            engines=self._engines,
            progress=progress,
            time_step=self.time_step,
        )

    def stored(self, inquiry: Inquiry) -> Answer | None:
        """The stored answer to an inquiry that this analyst may see, if there is one."""
        if inquiry.anew or auto_of(inquiry) is not None:
            return None
        payer, asked = priced(inquiry, catalog=self.catalog, accounts=self._accounts)
        return given_before(payer, asked, inquiry)

    def kept(
        self, account: str, entry: int, *, analyst: str, member_of: tuple[str, ...] = ()
    ) -> Answer | None:
        """The stored answer of an entry, if it has one that this analyst may see."""
        return kept_answer(self.account(account), entry, analyst=analyst, member_of=member_of)

    def submit(  # noqa: PLR0913  # as for a preview
        self,
        question: str | AnyQuestion,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        accuracy: Accuracy | None = None,
        delta: float | None = None,
        quantile_intervals: bool = True,
        account: str | None = None,
        analyst: str = "",
        purpose: str = "",
        rows: int | None = None,
        groups: int | None = None,
        whole_error: bool | None = None,
        noise: Noise | None = None,
    ) -> tuple[str, str]:
        """Ask for approval of a question; parameters as for :meth:`ask`. It costs nothing.

        Returns the account's name, and the id: once somebody else has approved it, :meth:`ask`
        with the same parameters and ``approval=`` answers it.
        """
        inquiry = Inquiry(
            question=question,
            budget=Budget(
                epsilon=epsilon,
                rho=rho,
                accuracy=accuracy,
                delta=delta,
                quantile_intervals=quantile_intervals,
                whole_error=whole_error,
                wanted_noise=noise,
            ),
            account=account,
            analyst=analyst,
            purpose=purpose,
            rows=rows,
            groups=groups,
        )
        return self.submitted(inquiry)

    def submitted(self, inquiry: Inquiry) -> tuple[str, str]:
        """What :meth:`submit` returns, of an inquiry."""
        return self.submitted_plan([inquiry])

    def submitted_plan(self, inquiries: Sequence[Inquiry]) -> tuple[str, str]:
        """What :meth:`submit_plan` returns, of inquiries."""
        payer, made = submitted(inquiries, catalog=self.catalog, accounts=self._accounts)
        return payer.name, made

    def submit_plan(
        self,
        questions: Sequence[PlanQuestion],
        *,
        account: str | None = None,
        analyst: str = "",
        purpose: str = "",
    ) -> tuple[str, str]:
        """Ask for approval of several questions together, on one account. It costs nothing.

        Returns the account's name, and one id for all of them. Somebody else approves the plan or
        declines it, as a whole; then :meth:`ask`, with the parameters of one of the questions and
        ``approval=`` the id, answers that question, once, in any order.

        Args:
            questions: a list of :class:`PlanQuestion`.
            account: who pays, if more than one account covers the dataset.
            analyst: who will ask.
            purpose: why, for questions that say none themselves.
        """
        return self.submitted_plan(_plan_inquiries(questions, account, analyst, purpose))

    def tune(  # noqa: PLR0913  # what is tuned, for what, and on whose account
        self,
        table: str,
        *,
        epsilon: float,
        columns: Sequence[str] = (),
        caps: bool = True,
        question: str | None = None,
        question_epsilon: float | None = None,
        account: str | None = None,
        analyst: str = "",
        approval: str = "",
        anew: bool = False,
    ) -> TunedTable:
        """Choose limits of a table privately, charged as any question is.

        The catalog stays as it is: ``quaestor.curator.catalog.catalog_edit.replace_table``
        writes the table that comes back into its file.

        Args:
            table: the table, which is private.
            epsilon: what it may cost, divided evenly over the histograms that are measured.
            columns: the numbers whose bounds are chosen; those without bounds, or else all.
            caps: whether rows and groups a unit are chosen too.
            question: SQL that the limits are to be good for; typical questions if left out.
            question_epsilon: what such questions cost; ``epsilon`` if left out.
            account: who pays, if more than one account covers the dataset.
            analyst: who asks; needed where the account has quotas.
            approval: what :meth:`submit` has returned, where the account demands approval.
            anew: to pay for another choice, though there may be one.

        Raises:
            RefusedQuery: a dashboard depends on the table as it is; nothing was charged.
            BudgetExceeded: the account cannot pay; nothing was charged.
        """
        from quaestor.curator.tuned_tables import tune

        plan = self._tune_plan(table, epsilon, columns, caps, question, question_epsilon)
        inquiry = _tune_inquiry(plan, account, analyst, approval=approval, anew=anew)
        return tune(
            plan,
            inquiry,
            catalog=self.catalog,
            accounts=self._accounts,
            progress=self.progress,
        )

    def preview_tune(  # noqa: PLR0913  # as for tuning
        self,
        table: str,
        *,
        epsilon: float,
        columns: Sequence[str] = (),
        caps: bool = True,
        question: str | None = None,
        question_epsilon: float | None = None,
        account: str | None = None,
        analyst: str = "",
        anew: bool = False,
    ) -> tuple[TunePlan, Preview]:
        """What :meth:`tune` would measure, and cost; no data are touched."""
        from quaestor.curator.tuned_tables import preview_tune

        plan = self._tune_plan(table, epsilon, columns, caps, question, question_epsilon)
        inquiry = _tune_inquiry(plan, account, analyst, approval="", anew=anew)
        return plan, preview_tune(plan, inquiry, catalog=self.catalog, accounts=self._accounts)

    def _tune_plan(  # noqa: PLR0913  # as above
        self,
        table: str,
        epsilon: float,
        columns: Sequence[str],
        caps: bool,  # noqa: FBT001
        question: str | None,
        question_epsilon: float | None,
    ) -> TunePlan:
        from quaestor.curator.limits.tune_plan import plan_tune
        from quaestor.curator.tuned_tables import refuse_dependent

        plan = plan_tune(
            self.catalog,
            table,
            epsilon=epsilon,
            columns=columns,
            caps=caps,
            question=question,
            question_epsilon=question_epsilon,
        )
        refuse_dependent(self.ledger, plan.table.dataset or plan.table.name)
        return plan


def _tune_inquiry(
    plan: TunePlan, account: str | None, analyst: str, *, approval: str, anew: bool
) -> Inquiry:
    return Inquiry(
        question="",
        budget=Budget(epsilon=plan.epsilon),
        account=account,
        analyst=analyst,
        purpose=f"dataset tune {plan.table.name}: {', '.join(plan.limits)}"[:500],
        approval=approval,
        anew=anew,
    )


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
            valid = f"given with --account: several accounts cover {dataset!r} ({', '.join(names)})"
            raise InvalidParameter("account", None, valid)
        raise InvalidParameter(
            "account",
            None,
            (
                f"an account on the dataset {dataset!r}, which has none yet: add "
                "[accounts.NAME] with epsilon and delta to the catalog and run  quaestor "
                "account open NAME"
            ),
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
        remedy=(
            f"the catalog defines it, but it is not open yet: run  quaestor account open {name}"
        ),
    )


def _plan_inquiries(
    questions: Sequence[PlanQuestion], account: str | None, analyst: str, purpose: str
) -> list[Inquiry]:
    """The inquiries of a plan, on one account."""
    if not isinstance(questions, list | tuple) or not all(
        isinstance(each, PlanQuestion) for each in questions
    ):
        raise InvalidParameter("questions", questions, "a list of PlanQuestion(...)")
    return [
        Inquiry(
            question=each.question,
            budget=each.budget,
            account=account,
            analyst=analyst,
            purpose=each.purpose or purpose,
            rows=each.rows,
            groups=each.groups,
        )
        for each in questions
    ]
