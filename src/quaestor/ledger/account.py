"""An account of a ledger: charges, prices, balances, entries and answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from quaestor.accounting.releases.base import check_real
from quaestor.errors import (
    AccountOverdrawn,
    BudgetExceeded,
    InvalidParameter,
    LedgerCorrupted,
)
from quaestor.ledger import stored_text as texts
from quaestor.ledger.account_limits import Book
from quaestor.ledger.cashier import Till
from quaestor.ledger.charge import Charge
from quaestor.ledger.definition import plan_problem, planned_epsilon
from quaestor.ledger.jobs import Keyed
from quaestor.ledger.journal.charge_counts import ChargeCounts, ChargeFacts, charge_facts
from quaestor.ledger.journal.entries import read_entries
from quaestor.ledger.journal.events import opened_by
from quaestor.ledger.journal.verification import verify_account
from quaestor.ledger.promise import promise_of
from quaestor.ledger.single_answer import PATIENCE, claim, original
from quaestor.ledger.standing import (
    Standing,
    holder_standing,
    holder_standings,
    shown_datasets,
)
from quaestor.ledger.store import statements as sql
from quaestor.ledger.theory import PRICING
from quaestor.ledger.totals.balance_columns import Change, balance_history
from quaestor.ledger.totals.odometer import KnownCosts, read_odometer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from quaestor.accounting.releases import Release
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.journal.appender import State
    from quaestor.ledger.journal.entries import Entry
    from quaestor.ledger.journal.verification import Verification
    from quaestor.ledger.price import Balance, Price
    from quaestor.ledger.request import Request
    from quaestor.ledger.standing import HolderStanding
    from quaestor.ledger.store.base import Store
    from quaestor.ledger.totals.balance_history import BalanceHistory
    from quaestor.ledger.totals.odometer import OdometerReading

__all__ = ["Account", "StoredAnswer"]


_STATE_IT = (
    "A history without a statement is charged by the sum of its epsilons and deltas; if the "
    "account's filter was fixed before it began, state that with fixed_before (--fixed-before)"
)


class StoredAnswer(NamedTuple):
    """An answer as it was released, word for word, with the entry that paid for it."""

    entry: int
    text: str


class Account:
    """One account. Made by a :class:`Ledger`; it remembers nothing that its store does not know."""

    def __init__(self, store: Store, definition: AccountDefinition) -> None:
        """Keep the definition, which never changes."""
        self._store, self.definition = store, definition
        self._till = Till(store, Book(definition))
        self._counts, self._costs = ChargeCounts(self._till.book), KnownCosts()
        self._facts = ChargeFacts()
        self._plan_checked = False
        self._problem: str | None = None

    def __repr__(self) -> str:
        """The name, the policy and the target."""
        d = self.definition
        return f"<account {d.name!r}, {d.policy.kind}, epsilon {d.epsilon:g}, delta {d.delta:g}>"

    @property
    def name(self) -> str:
        """What the account is called."""
        return self.definition.name

    def words(self) -> str:
        """What the account guarantees, in plain English: always of all answers together.

        It names the neighbours, the facts that are believed, what was fixed in advance and by
        whom, and how imported histories were charged. Where there are quotas it leaves those out,
        since analysts may read this and not what others have charged.
        """
        imported: dict[int, str] = {}
        if not self.definition.shares:
            with self._store.reading() as session:
                imported.update(session.rows(sql.STATEMENTS, account=self.name))
        return promise_of(self.definition, imported=imported)

    def problem(self) -> str | None:
        """Why the account takes no further charges though it is not closed; None if it does.

        By today's prices and theorems it promised, or was charged, too much: something was priced
        too low when it was charged, or what its promise rests on is not proved. Do not show this
        to an analyst who has a quota: it tells what others have charged.
        """
        return self._plan_problem() or self._till.overdrawn()

    def _plan_problem(self) -> str | None:
        """What is wrong with a plan that an earlier version accepted."""
        if not self._plan_checked:
            self._plan_checked = True
            if self.definition.policy.checked_again:
                with self._store.reading() as session:
                    opened = session.row(sql.OPENED, account=self.name)
                if opened != (opened_by(PRICING),):
                    self._problem = plan_problem(self.definition)
        return self._problem

    def _refuse_broken_plan(self) -> None:
        problem = self._plan_problem()
        if problem is not None:
            raise AccountOverdrawn(self.name, reason=problem)

    # Charging.

    def reserve(  # noqa: PLR0913  # what an entry says
        self,
        releases: Sequence[Release] | Release,
        *,
        dataset: str | None = None,
        analyst: str = "",
        purpose: str = "",
        query: str = "",
        query_text: str | None = None,
        key: str = "",
    ) -> Charge:
        """Charge for releases that are about to be made: one durable transaction, or an error.

        Args:
            releases: descriptions of what will be released.
            dataset: what it is about; may be left out where the account has one dataset.
            analyst: who asks; needed where the account has quotas.
            purpose: why, in one line.
            query: the question's fingerprint, under which its answer will be found again.
            query_text: the query itself, of which ``query`` is the SHA-256 and may be left out.
                A dashboard needs it: its queries are fixed by what they ask.
            key: a name of the caller's for this charge. The same key again, from any process and
                at any time, is the same charge and pays nothing: for whoever does not know
                whether an earlier attempt was charged.

        Raises:
            KeyReused: the key belongs to a charge that says something else.
            BudgetExceeded: it does not fit; nothing was charged, and the account goes on. Where
                there are quotas it has figures of the analyst's quota, or none at all.
            AccountOverdrawn: by today's prices and theorems the account promised too much.
        """
        self._refuse_broken_plan()
        request = self._request(
            releases,
            dataset=dataset,
            analyst=analyst,
            purpose=purpose,
            query=query,
            query_text=query_text,
        )
        if not key:
            (entry,) = self._till.charge("reserved", [request])
            return Charge(self._till, request, entry=entry)
        once = Keyed(self.name, request, key=key)
        job = self._till.charge_once(request, once)
        return Charge(self._till, request, entry=job.entry, job=job, repeated=not job.new)

    def _request(
        self, releases: Sequence[Release] | Release, *, query_text: str | None, **said: Any
    ) -> Request:
        request = self.definition.request(releases, query_text=query_text, **said)
        if query_text is None and self.definition.policy.needs_query_text:
            valid = "given: a dashboard is charged for the query itself, not for its digest"
            raise InvalidParameter("query_text", None, valid)
        return request

    def claim(  # noqa: PLR0913  # as for a reservation
        self,
        releases: Sequence[Release] | Release,
        *,
        dataset: str | None = None,
        analyst: str = "",
        purpose: str = "",
        query: str = "",
        query_text: str | None = None,
        patience: float = PATIENCE,
    ) -> Charge | StoredAnswer:
        """The stored answer to a question or, if it has none, a charge to answer it with.

        A question is answered once for one charge, however many ask it at the same time, in
        whatever process: whoever comes second waits for the answer of the first. A charge that
        was left behind before its noise was drawn is taken over and completed, and costs nothing
        more; see :mod:`quaestor.ledger.jobs`. Use the charge as a context manager: it is held
        meanwhile. Parameters are those of :meth:`reserve`; ``patience`` is how many seconds to
        wait for somebody else's answer.

        Raises:
            ChargeSettled: whoever was waited for has failed. A later repeat completes the charge.
            AnswerPending: somebody is still at work on the same question.
            BudgetExceeded: it does not fit; nothing was charged.
        """
        self._refuse_broken_plan()
        request = self._request(
            releases,
            dataset=dataset,
            analyst=analyst,
            purpose=purpose,
            query=query,
            query_text=query_text,
        )
        texts.name("query", request.query)

        def stored() -> StoredAnswer | None:
            return self.answer(request.query, dataset=request.dataset, analyst=analyst)

        found = claim(self._till, request, stored, patience=patience)
        if isinstance(found, StoredAnswer):
            return found
        if not found.new:
            request = original(self._till, request, entry=found.entry)
        return Charge(self._till, request, entry=found.entry, job=found, repeated=not found.new)

    def import_history(
        self,
        releases: Mapping[str, Sequence[Release]],
        *,
        purpose: str,
        analyst: str = "",
        fixed_before: str = "",
    ) -> tuple[int, ...]:
        """Charge for what was released elsewhere, by dataset: for all of it or, if need be, none.

        A history is a list that was *realised*: which releases it has may depend on their answers.
        The account's filter, or its plan, holds for it only if it was fixed before the history
        began. Without a statement that it was, an open account charges the basic sum, which holds
        for realised lists whenever the filter was chosen; other accounts take no history.

        Args:
            releases: what was released, of each dataset. All of it: what is left out is not
                covered.
            purpose: why, in one line.
            analyst: who asked; needed where the account has quotas.
            fixed_before: a statement, in one line, that the account's filter (or plan) was fixed
                before the first of these releases, by whom, and where that is written. It is
                kept in the chain and shown with the account's promise.

        Returns the numbers of the new entries, which are released from the start.
        """
        self._refuse_broken_plan()
        if not isinstance(releases, dict) or not releases:
            raise InvalidParameter("releases", releases, "lists of releases by dataset")
        statement = texts.line("fixed_before", fixed_before).strip()
        if not statement and not self.definition.policy.takes_realised:
            raise InvalidParameter(
                "fixed_before",
                fixed_before,
                "a statement that the plan was fixed before the history began, by whom, and where "
                "that is written: a list that was realised is not a plan. Without such a "
                "statement, import it into an account with the policy open",
            )
        requests = [
            replace(
                self.definition.request(listed, dataset=dataset, analyst=analyst, purpose=purpose),
                realised=not statement,
                statement=statement,
            )
            for dataset, listed in releases.items()
        ]
        try:
            return self._till.charge("imported", requests)
        except AccountOverdrawn:
            raise
        except BudgetExceeded as refused:
            raise refused if statement else refused.advise(_STATE_IT) from None

    def price_again(self) -> None:
        """Price the whole history by today's costs, if it was priced by those of another day.

        Accounts that are found by name are priced again by themselves.
        """
        self._till.price_again()

    def close(self) -> None:
        """Take no further charges, for good; entries and answers can still be read."""
        self._till.close()

    def accept_clock(self, reason: str) -> None:
        """Go on at the present time, though the last event is of a later one: a clock was wrong.

        The reason is recorded in the chain.
        """
        self._till.accept_clock(reason)

    # Reading.

    def price(  # what a charge says
        self,
        releases: Sequence[Release] | Release,
        *,
        dataset: str | None = None,
        analyst: str = "",
        query: str = "",
        query_text: str | None = None,
    ) -> Price:
        """What these releases would cost, and whether they fit; nothing is charged.

        Where the account has quotas, the answer to an analyst is about that analyst's quota only.
        What fits it may still be refused, if the account's total does not suffice; that is seen
        when it is charged. Without an analyst it is the owner who asks, about the total.
        """
        request = self.definition.request(
            releases,
            dataset=dataset,
            analyst=analyst,
            query=query,
            query_text=query_text,
            by_owner=not analyst,
        )
        self._refuse_broken_plan()
        self._till.book.check(request)
        return self._till.book.price(self._till.balances(request.analyst), request)

    def remaining(self, *, dataset: str | None = None, analyst: str = "") -> tuple[Balance, ...]:
        """How every meter stands: of the account's total or, for an analyst with a quota, of that.

        Do not show the total to an analyst who has a quota: it tells what others have charged.
        """
        datasets = self.definition.datasets
        if dataset is not None:
            datasets = (self._known_dataset(dataset),)
        if analyst:
            texts.name("analyst", analyst)
        balances = self._till.balances(analyst)
        return tuple(
            balance
            for each in datasets
            for balance in self._till.book.balances(balances, each, analyst)
        )

    def standing(self, *, dataset: str | None = None) -> Standing:
        """How the account stands, for its owner: on one dataset, or on those last charged.

        Do not show this to an analyst who has a quota: it tells what others have charged.
        """
        definition, state = self.definition, self.state()
        with self._store.reading() as session:
            facts = self._facts = charge_facts(session, self.name, self._facts)
        datasets = shown_datasets(definition, facts)
        if dataset is not None:
            datasets = (self._known_dataset(dataset),)
        book, totals_of = self._till.book, self._till.balances
        holders = holder_standings(book, totals_of, facts, datasets, closed=bool(state.closed))
        return Standing(
            definition=definition,
            words=self.words(),
            closed=bool(state.closed),
            problem=self.problem(),
            head=state.head,
            statuses=facts.statuses,
            datasets=datasets,
            holders=tuple(holders),
            odometer=self.odometer(delta=definition.delta),
            planned=planned_epsilon(definition),
        )

    def standing_on(self, dataset: str, *, analyst: str = "") -> HolderStanding:
        """What is left on one dataset: of the account or, for an analyst with a quota, of that."""
        known, totals = self._known_dataset(dataset), self._till.balances(analyst)
        return holder_standing(self._till.book, totals, dataset=known, analyst=analyst)

    def least_left(self) -> HolderStanding:
        """What is left of the account's total on the dataset where that is the least."""
        book, totals = self._till.book, self._till.balances("")
        each = (holder_standing(book, totals, dataset=d) for d in self.definition.datasets)
        return max(each, key=lambda standing: standing.used)

    def _known_dataset(self, dataset: str) -> str:
        datasets = self.definition.datasets
        if dataset not in datasets:
            raise InvalidParameter("dataset", dataset, f"one of {', '.join(datasets)}")
        return dataset

    def odometer(self, *, delta: float) -> OdometerReading:
        """What has been lost so far, whatever the policy, valid at every time.

        What was read and priced before is remembered: another reading takes in what was charged
        since.
        """
        at = check_real("delta", delta, low=0.0, high=1.0)
        with self._store.reading() as session:
            charged = self._counts.read(session)
        return read_odometer(self.definition, charged.items(), delta=at, costs=self._costs)

    def history(self, *, analyst: str = "") -> BalanceHistory:
        """The balance after every entry, by meter and as epsilon at the account's delta.

        Where the account has quotas, an analyst's history is that of the own quota: it says
        nothing of other analysts. Without a name it is the owner who looks, at the total.
        """
        if analyst:
            texts.name("analyst", analyst)
        with self._store.reading() as session:
            rows = session.rows(sql.CHANGES, account=self.name)
        changes = map(Change._make, rows)
        return balance_history(self._till.book, changes, analyst=analyst, costs=self._costs)

    def state(self) -> State:
        """Where the account stands: how many events and entries, the last time, the head."""
        return self._till.state()

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """The charges in their order, from the one after number ``after``."""
        return read_entries(self._store, self.name, after=after)

    def answer(
        self, query: str, *, dataset: str | None = None, analyst: str = ""
    ) -> StoredAnswer | None:
        """The stored answer to a question, if there is one: to read it again costs nothing.

        Where the account has quotas, it is an answer of this analyst only: each pays for the own
        answers.
        """
        if dataset is None and len(self.definition.datasets) == 1:
            dataset = self.definition.datasets[0]
        whose = ""
        if self.definition.shares:
            whose = texts.name("analyst", analyst)
        asked = texts.name("query", query)
        with self._store.reading() as session:
            found = session.row(
                sql.ANSWER, account=self.name, dataset=dataset, query=asked, analyst=whose
            )
        if found is None:
            return None
        entry, text, digest = found
        if not isinstance(text, str) or texts.digest(text) != digest:
            place = f"the answer of entry {entry} of account {self.name!r}"
            raise LedgerCorrupted(place, "it is not the one that was released")
        return StoredAnswer(entry, text)

    def verify(self, *, head: str | None = None) -> Verification:
        """Check everything that the ledger knows of this account against its chain.

        Args:
            head: the chain's head as it was noted elsewhere, at any time: it must still be part
                of the chain, which shows that nothing before it was taken away or rewritten.

        Raises:
            LedgerCorrupted: something does not hold together; it names the first such place.
        """
        with self._store.reading() as session:
            return verify_account(session, self.name, head=head)
