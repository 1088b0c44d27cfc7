"""What can be read of an account: its promise, its entries, what is left, and what was lost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

from quaestor.accounting.releases.base import check_real
from quaestor.documents.presented import Presented
from quaestor.errors import LedgerUnavailable
from quaestor.ledger import stored_text as texts
from quaestor.ledger.definition import plan_problem, planned_epsilon
from quaestor.ledger.journal.charge_counts import ChargeCounts, ChargeFacts, charge_facts
from quaestor.ledger.journal.declarations import read_declarations
from quaestor.ledger.journal.entries import read_entries
from quaestor.ledger.journal.events import opened_by, opened_under
from quaestor.ledger.promise import promise_of
from quaestor.ledger.store import statements as sql
from quaestor.ledger.successors import Together, predecessors
from quaestor.ledger.theory import PRICING
from quaestor.ledger.totals.holder_standings import (
    holder_standing,
    holder_standings,
    shown_datasets,
)
from quaestor.ledger.totals.odometer import KnownCosts, read_odometer
from quaestor.ledger.totals.standing import Standing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quaestor.documents.text_table import TextTable
    from quaestor.ledger.cashier import Cashier
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.journal.appender import State
    from quaestor.ledger.journal.data_versions import DataVersion
    from quaestor.ledger.journal.declarations import RecordedDeclaration
    from quaestor.ledger.journal.entries import Entry
    from quaestor.ledger.journal.verification import Verification
    from quaestor.ledger.store.base import Store
    from quaestor.ledger.totals.balance_history import BalanceHistory
    from quaestor.ledger.totals.odometer import OdometerReading
    from quaestor.ledger.totals.standing import HolderStanding

__all__ = ["AccountView"]


class AccountView(Presented, ABC):
    """An account as its owner reads it. What was read before is remembered, and followed."""

    definition: AccountDefinition
    _store: Store
    _cashier: Cashier
    _counts: ChargeCounts | None = None
    _costs: KnownCosts | None = None
    _facts = ChargeFacts()
    _plan_checked = False
    _problem: str | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """What the account is called."""

    @abstractmethod
    def _relative(self, definition: AccountDefinition) -> AccountView:
        """Another account of the same store."""

    @abstractmethod
    def _known_dataset(self, dataset: str) -> str:
        """One of the account's datasets."""

    def words(self) -> str:
        """What the account guarantees, in plain English: always of all answers together.

        It names the neighbours, the facts that are believed, what was fixed in advance and by
        whom, and how imported histories were charged. Where there are quotas it leaves those out,
        since analysts may read this and not what others have charged.
        """
        imported: dict[int, str] = {}
        if not self.definition.shares:
            with self._store.reading() as session:
                rows = session.rows(sql.STATEMENTS, account=self.name)
            imported = {entry: texts.parts_of(detail)[0] for entry, detail in rows}
        return promise_of(self.definition, imported=imported, together=self.together())

    def together(self) -> Together | None:
        """What this account and all that it succeeds lose together; None if it succeeds none."""
        if self.definition.succeeds is None:
            return None
        with self._store.reading() as session:
            line = (self.definition, *predecessors(session, self.definition))
        sizes = tuple((each.name, each.epsilon, each.delta) for each in line)
        sound = all(
            self._relative(each).problem() is None and not each.policy.by_blocks for each in line
        )
        return Together.of(sizes, sound=sound)

    def problem(self) -> str | None:
        """Why the account takes no further charges though it is not closed; None if it does.

        By today's prices and theorems it promised, or was charged, too much: something was priced
        too low when it was charged, or what its promise rests on is not proved. Do not show this
        to an analyst who has a quota: it tells what others have charged.
        """
        return self._plan_problem() or self._cashier.overdrawn()

    def _plan_problem(self) -> str | None:
        """What is wrong with a plan that an earlier version accepted."""
        if self.definition.policy.checked_again and not self._plan_checked:
            self._plan_checked = True
            if self._opened() != opened_by(PRICING):
                self._problem = plan_problem(self.definition)
        return self._problem

    def _opened(self) -> str:
        with self._store.reading() as session:
            (purpose,) = session.row(sql.OPENED, account=self.name) or ("",)
        return str(purpose)

    @cached_property
    def opened_under(self) -> int:
        """The version of the ledger's prices that it was opened under; it was never under less."""
        return opened_under(self._opened())

    def is_closed(self) -> bool:
        """Whether it was closed, or its closing date has come by the store's clock."""
        return self._cashier.is_closed()

    def state(self) -> State:
        """Where the account stands: how many events and entries, the last time, the head."""
        return self._cashier.state()

    def blocks(self) -> tuple[str, ...]:
        """The blocks of time that there are by the ledger's clock; none without such budgets."""
        if not self.definition.policy.by_blocks:
            return ()
        with self._store.reading() as session:
            return self.definition.policy.blocks_until(session.now())

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """The charges in their order, from the one after number ``after``."""
        return read_entries(self._store, self.name, after=after)

    def declarations(self) -> tuple[RecordedDeclaration, ...]:
        """What was declared of its datasets when it opened, and every change since."""
        with self._store.reading() as session:
            return read_declarations(session, self.name)

    @abstractmethod
    def data_versions(self, dataset: str | None = None) -> tuple[DataVersion, ...]:
        """Every refresh of the data that was recorded: of one dataset, or of all."""

    def standing(self, *, dataset: str | None = None) -> Standing:
        """How the account stands, for its owner: on one dataset, or on those last charged.

        Do not show this to an analyst who has a quota: it tells what others have charged.
        """
        definition, state, closed = self.definition, self.state(), self.is_closed()
        with self._store.reading() as session:
            facts = self._facts = charge_facts(session, self.name, self._facts)
        datasets = shown_datasets(definition, facts)
        if dataset is not None:
            datasets = (self._known_dataset(dataset),)
        limits, totals_of = self._cashier.limits, self._cashier.balances
        holders = holder_standings(
            limits,
            totals_of,
            facts,
            datasets,
            closed=closed,
            blocks=self.blocks(),
        )
        return Standing(
            definition=definition,
            words=self.words(),
            closed=closed,
            problem=self.problem(),
            head=state.head,
            statuses=facts.statuses,
            datasets=datasets,
            holders=tuple(holders),
            odometer=self.odometer(delta=definition.delta),
            planned=planned_epsilon(definition),
            declared=tuple(d for d in self.declarations() if d.dataset in datasets),
            versions=tuple(
                {
                    each.dataset: each for each in self.data_versions() if each.dataset in datasets
                }.values()
            ),
            together=self.together(),
        )

    def standing_on(
        self, dataset: str, *, analyst: str = "", blocks: Sequence[str] = ()
    ) -> HolderStanding:
        """What is left on one dataset: of the account or, for an analyst with a quota, of that.

        Where budgets are of blocks of time: of these (or of all there are) the one with the least.
        Where a group of the analyst's has less left, it is that of the group.
        """
        return self._least((self._known_dataset(dataset),), analyst, blocks)

    def least_left(self) -> HolderStanding:
        """What is left of the account's total on the dataset (and block) where that is least."""
        return self._least(self.definition.datasets, "", ())

    def _least(
        self, datasets: tuple[str, ...], analyst: str, blocks: Sequence[str]
    ) -> HolderStanding:
        limits, totals = self._cashier.limits, self._cashier.balances(analyst)
        groups = ("", *(group.holder for group in self.definition.groups_of(analyst)))
        each = (
            holder_standing(
                limits, totals, dataset=dataset, analyst=analyst, group=group, block=block
            )
            for dataset in datasets
            for block in blocks or self.blocks() or ("",)
            for group in groups
        )
        return max(each, key=lambda standing: standing.used)

    def odometer(self, *, delta: float) -> OdometerReading:
        """What has been lost so far, whatever the policy, valid at every time.

        What was read and priced before is remembered: another reading takes in what was charged
        since.
        """
        at = check_real("delta", delta, low=0.0, high=1.0)
        if self._counts is None:
            self._counts = ChargeCounts(self._cashier.limits)
        with self._store.reading() as session:
            charged = self._counts.read(session)
        return read_odometer(self.definition, charged.items(), delta=at, costs=self._known_costs())

    def history(self, *, analyst: str = "", block: str = "") -> BalanceHistory:
        """The balance after every entry, by meter and as epsilon at the account's delta.

        Where budgets are of blocks of time it is that of one block: the fullest, if none is named.

        Where the account has quotas, an analyst's history is that of the own quota: it says
        nothing of other analysts. Without a name it is the owner who looks, at the total.
        """
        from quaestor.ledger.totals.balance_columns import balance_history

        if analyst:
            texts.name("analyst", analyst)
        with self._store.reading() as session:
            changes = session.rows(sql.CHANGES, account=self.name)
        if block:
            self.definition.policy.checked_blocks((block,))
        elif self.blocks():
            block = self._least(self.definition.datasets, analyst, ()).block
        return balance_history(
            self._cashier.limits, changes, analyst=analyst, costs=self._known_costs(), block=block
        )

    def to_table(self) -> TextTable:
        """The account's standing, for its owner: every meter, what is lost, what still fits."""
        return self.standing().to_table()

    def _repr_html_(self) -> str | None:  # type: ignore[override]  # None: notebooks show text
        try:
            return self.to_html()
        except LedgerUnavailable:
            return None

    def plot(self, *, of: str = "left", analyst: str = "", axes: Any = None) -> Any:
        """Draw the burn-down: see :meth:`history`, whose ``plot`` this is."""
        return self.history(analyst=analyst).plot(of=of, axes=axes)

    def verify(self, *, head: str | None = None) -> Verification:
        """Check everything that the ledger knows of this account against its chain.

        Args:
            head: the chain's head as it was noted elsewhere, at any time: it must still be part
                of the chain, which shows that nothing before it was taken away or rewritten.

        Raises:
            LedgerCorrupted: something does not hold together; it names the first such place.
        """
        from quaestor.ledger.journal.verification import verify_account

        with self._store.reading() as session:
            return verify_account(session, self.name, head=head)

    def _known_costs(self) -> KnownCosts:
        if self._costs is None:
            self._costs = KnownCosts()
        return self._costs
