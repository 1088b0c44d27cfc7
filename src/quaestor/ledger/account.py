"""An account of a ledger: charges, prices, balances, entries and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from quaestor.accounting.releases.base import check_real
from quaestor.errors import InvalidParameter, LedgerCorrupted
from quaestor.ledger import texts
from quaestor.ledger.book import Book
from quaestor.ledger.charge import Charge
from quaestor.ledger.entries import read_entries
from quaestor.ledger.journal import history
from quaestor.ledger.odometer import read_odometer
from quaestor.ledger.policies import Open
from quaestor.ledger.request import checked_request
from quaestor.ledger.store import sql
from quaestor.ledger.till import Till
from quaestor.ledger.verify import verify_account

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from quaestor.accounting.releases import Release
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.entries import Entry
    from quaestor.ledger.journal import State
    from quaestor.ledger.odometer import OdometerReading
    from quaestor.ledger.price import Balance, Price
    from quaestor.ledger.store.base import Store
    from quaestor.ledger.verify import Verification

__all__ = ["Account", "StoredAnswer"]

_QUOTAS = (
    "Quotas limit how much of this budget each analyst may use. They do not guarantee what an "
    "analyst can learn: only the total is guaranteed."
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

    def __repr__(self) -> str:
        """The name, the policy and the target."""
        d = self.definition
        return f"<account {d.name!r}, {d.policy.kind}, epsilon {d.epsilon:g}, delta {d.delta:g}>"

    @property
    def name(self) -> str:
        """What the account is called."""
        return self.definition.name

    def words(self) -> str:
        """What the account guarantees, in plain English: always of all answers together."""
        policy, target = self.definition.policy, self.definition
        quotas = f" {_QUOTAS}" if target.shares else ""
        if isinstance(policy, Open) and policy.filter is not None:
            return policy.filter.words() + quotas
        fixed = "the releases are" if policy.kind == "planned" else "the queries are"
        return (
            f"Everything together is ({target.epsilon:g}, {target.delta:g})-differentially "
            f"private: {fixed} declared, and nothing else is ever charged.{quotas}"
        )

    # Charging.

    def reserve(
        self,
        releases: Sequence[Release] | Release,
        *,
        dataset: str | None = None,
        analyst: str = "",
        purpose: str = "",
        query: str = "",
    ) -> Charge:
        """Charge for releases that are about to be made: one durable transaction, or an error.

        Args:
            releases: descriptions of what will be released.
            dataset: what it is about; may be left out where the account has one dataset.
            analyst: who asks; needed where the account has quotas.
            purpose: why, in one line.
            query: the question's fingerprint, under which its answer will be found again.

        Raises:
            BudgetExceeded: it does not fit; nothing was charged, and the account goes on. Where
                there are quotas it has figures of the analyst's quota, or none at all.
        """
        request = checked_request(
            self.definition,
            releases,
            dataset=dataset,
            analyst=analyst,
            purpose=purpose,
            query=query,
        )
        (entry,) = self._till.charge("reserved", [request])
        return Charge(self._till, request, entry=entry)

    def import_history(
        self, releases: Mapping[str, Sequence[Release]], *, purpose: str, analyst: str = ""
    ) -> tuple[int, ...]:
        """Charge for what was released elsewhere, by dataset: for all of it or, if need be, none.

        Returns the numbers of the new entries, which are released from the start.
        """
        if not isinstance(releases, dict) or not releases:
            raise InvalidParameter("releases", releases, "lists of releases by dataset")
        requests = [
            checked_request(
                self.definition, listed, dataset=dataset, analyst=analyst, purpose=purpose
            )
            for dataset, listed in releases.items()
        ]
        return self._till.charge("imported", requests)

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

    def price(
        self,
        releases: Sequence[Release] | Release,
        *,
        dataset: str | None = None,
        analyst: str = "",
        query: str = "",
    ) -> Price:
        """What these releases would cost, and whether they fit; nothing is charged.

        Where the account has quotas, the answer to an analyst is about that analyst's quota only.
        What fits it may still be refused, if the account's total does not suffice; that is seen
        when it is charged. Without an analyst it is the owner who asks, about the total.
        """
        request = checked_request(
            self.definition,
            releases,
            dataset=dataset,
            analyst=analyst,
            query=query,
            by_owner=not analyst,
        )
        self._till.book.check(request)
        return self._till.book.price(self._till.balances(request.analyst), request)

    def remaining(self, *, dataset: str | None = None, analyst: str = "") -> tuple[Balance, ...]:
        """How every meter stands: of the account's total or, for an analyst with a quota, of that.

        Do not show the total to an analyst who has a quota: it tells what others have charged.
        """
        datasets = self.definition.datasets
        if dataset is not None:
            if dataset not in datasets:
                raise InvalidParameter("dataset", dataset, f"one of {', '.join(datasets)}")
            datasets = (dataset,)
        if analyst:
            texts.name("analyst", analyst)
        balances = self._till.balances(analyst)
        return tuple(
            balance
            for each in datasets
            for balance in self._till.book.balances(balances, each, analyst)
        )

    def odometer(self, *, delta: float) -> OdometerReading:
        """What has been lost so far, whatever the policy, valid at every time."""
        at = check_real("delta", delta, low=0.0, high=1.0)
        with self._store.reading() as session:
            charged = list(history(session, self._till.book))
        return read_odometer(self.definition, charged, delta=at)

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
