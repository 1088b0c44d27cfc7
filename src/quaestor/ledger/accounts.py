"""The ledger: all accounts of one store."""

from __future__ import annotations

from dataclasses import replace
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
from quaestor.ledger.account_limits import AccountLimits
from quaestor.ledger.amounts import totals_to_text
from quaestor.ledger.definition import AccountDefinition
from quaestor.ledger.jobs import read_pending
from quaestor.ledger.journal.appender import read_state, write_alone
from quaestor.ledger.journal.data_versions import refresh
from quaestor.ledger.journal.declarations import checked_declared, refuse_known_sources
from quaestor.ledger.journal.events import Event, opened_by
from quaestor.ledger.price import Request
from quaestor.ledger.store import statements as sql
from quaestor.ledger.store.address import open_store
from quaestor.ledger.successors import check_predecessor, is_closed, predecessors
from quaestor.ledger.theory import PRICING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from quaestor.ledger.jobs import Pending
    from quaestor.ledger.journal.declarations import DatasetDigests
    from quaestor.ledger.journal.verification import Verification
    from quaestor.ledger.people.registry import People
    from quaestor.ledger.question_jobs import QuestionJobs
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

    >>> from tempfile import TemporaryDirectory
    >>> trial = AccountDefinition(name="trial", epsilon=1.0, delta=1e-6, datasets=("patients",))
    >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/ledger.db") as ledger:
    ...     account = ledger.open_account(trial)
    ...     [each.name for each in ledger.accounts()]
    ['trial']
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

    @property
    def people(self) -> People:
        """Who may use a service over this ledger."""
        from quaestor.ledger.people.registry import People

        return People(self._store)

    @property
    def questions(self) -> QuestionJobs:
        """What was asked of a service over this ledger."""
        from quaestor.ledger.question_jobs import QuestionJobs

        return QuestionJobs(self._store)

    def close(self) -> None:
        """Let go of the store. Everything is durable already."""
        self._store.close()

    def open_account(
        self, definition: AccountDefinition, *, declared: Mapping[str, DatasetDigests] | None = None
    ) -> Account:
        """Open an account, once; its definition is fixed from here on.

        Args:
            definition: what it is.
            declared: digests of what is declared of its datasets, by which their sources are
                known again under other names. The curator gives those of its catalog.

        Raises:
            TargetOutOfReach: what is planned loses more than the target.
            InvalidParameter: it declares something about which no theorem is known to hold.
            AccountExists: the name is taken, or another account covers one of the datasets and
                the definition says neither ``beside=True`` nor, of a closed one, ``succeeds``.
            SourceKnown: another account, open or closed, has paid for the source of one of the
                datasets under another name, and the definition does not say ``beside=True``.
            BudgetExceeded: it has a predecessor, and no block could pay for that one's past.

        With a ``predecessor`` (see :class:`Blocked`) that account's guarantee is the first entry,
        charged to every block there is, in the same transaction. Which filter the new account has
        may have been chosen by the past's answers, so that it is charged as a realised history.
        """
        if not isinstance(definition, AccountDefinition):
            raise InvalidParameter("definition", definition, "an AccountDefinition")
        text = definition.to_json()
        if AccountDefinition.from_json(text) != definition:
            raise InvalidParameter("filter", "another one", "one of quaestor.accounting.filters")
        definition.policy.check_new(definition)
        past = self._past(definition)
        known = checked_declared(declared, definition)

        def work(session: Session) -> Event:
            session.lock_accounts()
            found = session.locked(definition.name, seen=0)
            if found.state is not None:
                raise AccountExists(definition.name)
            if definition.closes is not None and found.time >= definition.closes:
                raise InvalidParameter("closes", definition.closes, "in the future")
            check_predecessor(session, definition, time=found.time)
            if not definition.beside:
                _refuse_overlap(session, definition, time=found.time)
            refuse_known_sources(session, definition, known)
            last = _open(session, definition, known, time=found.time)
            return last if past is None else _charge_past(session, definition, past, last)

        last = write_alone(self._store, work)
        self._store.note_head(definition.name, seq=last.seq, head=last.hash)
        self._definitions[text] = definition
        return Account(self._store, definition)

    def _past(self, definition: AccountDefinition) -> Request | None:
        """The whole past of a predecessor, which must be over; None if there is none."""
        name = definition.policy.past
        if not name:
            return None
        before = self.account(name)
        old = before.definition
        (dataset,) = definition.datasets
        if not before.state().closed:
            raise InvalidParameter(
                "predecessor",
                name,
                "closed, so that its past is over: close it first (quaestor account close)",
            )
        if dataset not in old.datasets or old.policy.calendar is not None:
            valid = f"an account on {dataset} without blocks"
            raise InvalidParameter("predecessor", name, valid)
        if old.membership is not None or old.neighbours != "add_remove" or before.problem():
            valid = "an account whose guarantee holds without membership facts and is not overdrawn"
            raise InvalidParameter("predecessor", name, valid)
        if definition.shares:
            valid = "left out: no analyst's quota pays for a predecessor's past"
            raise InvalidParameter("shares", len(definition.shares), valid)
        return Request(
            releases=definition.policy.charged_past(old),
            dataset=dataset,
            purpose=f"the whole past of account {name}",
            realised=True,
        )

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

    def refreshed(self, dataset: str, *, version: str) -> tuple[str, ...]:
        """Record that a dataset has other rows from here on: with every account that covers it.

        Budgets stay as they are: people who are still in the data lose what new answers cost
        in addition. Stored answers say from now on which version they are of.

        Args:
            dataset: whose rows are others now.
            version: what to call them, a label that was not used before.

        Returns the names of the accounts.
        """
        covered = [each.definition for each in self.accounts()]
        names = tuple(each.name for each in covered if dataset in each.datasets)
        if not names:
            known = sorted({each for definition in covered for each in definition.datasets})
            valid = f"a dataset that an account pays for ({', '.join(known) or 'none yet'})"
            raise InvalidParameter("dataset", dataset, valid)
        refresh(self._store, names, dataset, version)
        return names

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
                raise LedgerCorrupted(
                    f"account {stray[0]!r}", "it has entries, but its own record is missing"
                )
            for name in noted:
                if name not in names:
                    raise LedgerCorrupted(
                        f"account {name!r}", "its head was recorded, but the account is missing"
                    )
        from quaestor.ledger.journal.verification import verify_account

        self.people.verify()
        with self._store.reading() as session:
            return tuple(verify_account(session, name, head=noted.get(name)) for name in names)

    def export(self, form: str = "jsonl", *, account: str | None = None) -> Iterator[str]:
        """Every event as a line of ``jsonl`` or ``csv``: of one account, or of all."""
        from quaestor.ledger.journal.export import export_events

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
        raise LedgerCorrupted(f"account {account!r}", "it has no valid definition") from None
    return definition


def _refuse_overlap(session: Session, definition: AccountDefinition, *, time: str) -> None:
    """Whoever is in a dataset of two accounts loses what both allow; that must be meant."""
    line = {each.name for each in predecessors(session, definition)}
    for row in session.rows(sql.ACCOUNTS):
        other = _definition(row[1], row[0])
        if other.name == definition.policy.past:
            continue  # what it allows is charged here
        for dataset in definition.datasets:
            if dataset in other.datasets and other.name not in line:
                closed = is_closed(session, other, time=time)
                raise AccountExists(other.name, dataset=dataset, closed=closed)


def _charge_past(
    session: Session, definition: AccountDefinition, past: Request, last: Event
) -> Event:
    """Charge every block there is for a predecessor's past; the new last event."""
    time = last.time
    request = replace(past, blocks=definition.policy.blocks_until(time))
    if not request.blocks:
        raise InvalidParameter("first", time, "a block that has begun: there is a past to charge")
    limits = AccountLimits(definition)
    changed = limits.after({}, request)
    if changed is None:
        raise (
            limits.price({}, request)
            .refusal()
            .advise(
                "Every block is charged the predecessor's whole guarantee: open this account "
                "with a larger epsilon than it has, and at least twice its delta"
            )
        )
    event = Event(
        definition.name,
        last.seq + 1,
        "imported",
        1,
        time,
        dataset=request.dataset,
        purpose=request.purpose,
        releases=texts.releases_to_text(request.releases),
        detail=texts.detail_of("", request.blocks),
        previous=last.hash,
    ).sealed()
    session.run(sql.ADD_EVENT, **event._asdict())
    for (place, holder), totals in changed.items():
        written = totals_to_text(totals)
        session.run(
            sql.SET_BALANCE, account=definition.name, dataset=place, analyst=holder, totals=written
        )
    session.run(
        sql.SET_STATE,
        account=definition.name,
        events=event.seq,
        entries=1,
        time=time,
        head=event.hash,
        closed=0,
        pricing=PRICING,
    )
    return event


def _open(
    session: Session,
    definition: AccountDefinition,
    declared: Mapping[str, DatasetDigests],
    *,
    time: str,
) -> Event:
    """Begin an account's chain; its last event."""
    last = Event(
        definition.name,
        1,
        "opened",
        time=time,
        purpose=opened_by(PRICING),
        detail=definition.to_json(),
    ).sealed()
    session.run(sql.ADD_EVENT, **last._asdict())
    session.run(sql.ADD_ACCOUNT, name=definition.name, definition=last.detail)
    for dataset, each in declared.items():
        last = Event(
            definition.name,
            last.seq + 1,
            "declared",
            time=time,
            dataset=dataset,
            detail=each.text,
            previous=last.hash,
        ).sealed()
        session.run(sql.ADD_EVENT, **last._asdict())
    session.run(
        sql.ADD_STATE,
        account=definition.name,
        events=last.seq,
        entries=0,
        time=time,
        head=last.hash,
        closed=0,
        pricing=PRICING,
    )
    return last
