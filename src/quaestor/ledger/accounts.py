"""The ledger: all accounts of one store."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Self

from quaestor.errors import (
    AccountExists,
    InvalidParameter,
    LedgerCorrupted,
    UnknownAccount,
)
from quaestor.ledger import stored_text as texts
from quaestor.ledger.account import Account
from quaestor.ledger.definition import AccountDefinition
from quaestor.ledger.jobs import read_pending
from quaestor.ledger.journal.appender import read_state, write_alone
from quaestor.ledger.journal.events import Event, opened_by
from quaestor.ledger.journal.export import export_events
from quaestor.ledger.journal.verification import verify_account
from quaestor.ledger.store import statements as sql
from quaestor.ledger.store.address import open_store
from quaestor.ledger.successors import check_predecessor, is_closed, predecessors
from quaestor.ledger.theory import PRICING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from quaestor.ledger.jobs import Pending
    from quaestor.ledger.journal.verification import Verification
    from quaestor.ledger.store.base import Session

__all__ = ["Ledger"]

_MOST_DEFINITIONS = 256  # that are remembered


class Ledger:
    """A durable store of accounts: a file, or a PostgreSQL database.

    Safe to be used by many threads at once, and by many processes, on PostgreSQL by many machines;
    each process has a Ledger of its own.

    Args:
        location: a path, or an address such as ``postgresql://user@host/database``.
        create: whether to make a new ledger where there is none.
        read_only: whether nothing is to be written, not even by the store: for those who may only
            read it.
    """

    def __init__(
        self, location: str | Path, *, create: bool = True, read_only: bool = False
    ) -> None:
        """Open the store; a new one is made, an older one brought up to date."""
        self._store = open_store(location, create=create and not read_only, read_only=read_only)
        self._read_only = read_only
        self._definitions: dict[str, AccountDefinition] = {}

    def __enter__(self) -> Self:
        """The ledger itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of the store."""
        self.close()

    def close(self) -> None:
        """Let go of the store. Everything is durable already."""
        self._store.close()

    def open_account(self, definition: AccountDefinition) -> Account:
        """Open an account, once; its definition is fixed from here on.

        Raises:
            TargetOutOfReach: what is planned loses more than the target.
            InvalidParameter: it declares something about which no theorem is known to hold.
            AccountExists: the name is taken, or another account covers one of the datasets and
                the definition says neither ``beside=True`` nor, of a closed one, ``succeeds``.
        """
        if not isinstance(definition, AccountDefinition):
            raise InvalidParameter("definition", definition, "an AccountDefinition")
        text = definition.to_json()
        if AccountDefinition.from_json(text) != definition:
            raise InvalidParameter("filter", "another one", "one of quaestor.accounting.filters")
        definition.policy.check_new(definition)

        def work(session: Session) -> str:
            session.lock_accounts()
            found = session.locked(definition.name, seen=0)
            if found.state is not None:
                raise AccountExists(definition.name)
            if definition.closes is not None and found.time >= definition.closes:
                raise InvalidParameter("closes", definition.closes, "in the future")
            check_predecessor(session, definition, time=found.time)
            if not definition.beside:
                _refuse_overlap(session, definition, time=found.time)
            return _open(session, definition, time=found.time)

        head = write_alone(self._store, work)
        self._store.note_head(definition.name, seq=1, head=head)
        self._definitions[text] = definition
        return Account(self._store, definition)

    def account(self, name: str) -> Account:
        """An account by its name."""
        with self._store.reading() as session:
            found = session.row(sql.DEFINITION, name=texts.name("account", name))
            if found is None:
                known = [other[0] for other in session.rows(sql.ACCOUNTS)]
                near = get_close_matches(name, known, n=1)
                raise UnknownAccount(name, near=near[0] if near else None)
            state = read_state(self._store, session, name)
        account = Account(self._store, self._definition(found[0], name))
        if state.pricing != PRICING and not self._read_only:
            account.price_again()
        return account

    def _definition(self, text: Any, account: str) -> AccountDefinition:
        """The definition; one that was read before is the same for good."""
        known = self._definitions.get(text)
        if known is None:
            if len(self._definitions) >= _MOST_DEFINITIONS:
                self._definitions.clear()
            known = self._definitions[text] = _definition(text, account)
        return known

    def accounts(self) -> tuple[Account, ...]:
        """All accounts, by name."""
        with self._store.reading() as session:
            rows = session.rows(sql.ACCOUNTS)
        return tuple(Account(self._store, _definition(row[1], row[0])) for row in rows)

    def heads(self) -> dict[str, str]:
        """The head of every account's chain now: to be noted elsewhere, see :meth:`verify`."""
        with self._store.reading() as session:
            return {str(row[0]): str(row[3]) for row in session.rows(sql.HEADS)}

    def pending(self, *, account: str | None = None) -> tuple[Pending, ...]:
        """Charges that are not settled, of one account or of all: under way, or left behind."""
        with self._store.reading() as session:
            names = [row[0] for row in session.rows(sql.ACCOUNTS)]
            if account is not None:
                if account not in names:
                    near = get_close_matches(account, names, n=1)
                    raise UnknownAccount(account, near=near[0] if near else None)
                names = [account]
            return tuple(each for name in names for each in read_pending(session, name))

    def verify(
        self, *, heads: Mapping[str, str | Sequence[str]] | None = None
    ) -> tuple[Verification, ...]:
        """Check every account, and that nothing belongs to none.

        Args:
            heads: heads of accounts as they were noted elsewhere, one or several by account.

        Raises:
            LedgerCorrupted: something does not hold together; it names the first such place.
        """
        noted = dict(heads or {})
        with self._store.reading() as session:
            session.check()
            names = [row[0] for row in session.rows(sql.ACCOUNTS)]
            for stray in session.rows(sql.STRAYS):
                raise LedgerCorrupted(f"account {stray[0]!r}", "it has entries, and is gone itself")
            for name in noted:
                if name not in names:
                    raise LedgerCorrupted(f"account {name!r}", "its head was noted, and it is gone")
            return tuple(verify_account(session, name, head=noted.get(name)) for name in names)

    def export(self, form: str = "jsonl", *, account: str | None = None) -> Iterator[str]:
        """Every event as a line of ``jsonl`` or ``csv``: of one account, or of all."""
        names = (
            [each.name for each in self.accounts()]
            if account is None
            else [self.account(account).name]
        )
        return export_events(self._store, names, form=form)


def _definition(text: Any, account: str) -> AccountDefinition:
    try:
        definition = AccountDefinition.from_json(text)
    except InvalidParameter:
        raise LedgerCorrupted(f"account {account!r}", "its definition is none") from None
    return definition


def _refuse_overlap(session: Session, definition: AccountDefinition, *, time: str) -> None:
    """Whoever is in a dataset of two accounts loses what both allow; that must be meant."""
    line = {each.name for each in predecessors(session, definition)}
    for row in session.rows(sql.ACCOUNTS):
        other = _definition(row[1], row[0])
        for dataset in definition.datasets:
            if dataset in other.datasets and other.name not in line:
                closed = is_closed(session, other, time=time)
                raise AccountExists(other.name, dataset=dataset, closed=closed)


def _open(session: Session, definition: AccountDefinition, *, time: str) -> str:
    """Begin an account's chain; its head."""
    event = Event(
        definition.name,
        1,
        "opened",
        time=time,
        purpose=opened_by(PRICING),
        detail=definition.to_json(),
    ).sealed()
    session.run(sql.ADD_EVENT, **event._asdict())
    session.run(sql.ADD_ACCOUNT, name=definition.name, definition=event.detail)
    session.run(
        sql.ADD_STATE,
        account=definition.name,
        events=1,
        entries=0,
        time=time,
        head=event.hash,
        closed=0,
        pricing=PRICING,
    )
    return event.hash
