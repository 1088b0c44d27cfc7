"""What was declared of a dataset, as digests: by its source it is known again under any name."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quaestor.errors import InvalidParameter, LedgerCorrupted, SourceKnown
from quaestor.ledger import stored_text as texts
from quaestor.ledger.journal.appender import Journal, write_alone
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.store.base import Session, Store

__all__ = [
    "DatasetDigests",
    "RecordedDeclaration",
    "checked_declared",
    "declare",
    "read_declarations",
    "refuse_known_sources",
]


@dataclass(frozen=True, slots=True)
class DatasetDigests:
    """Digests of what somebody, such as a catalog, declares of a dataset.

    >>> digests = DatasetDigests("ab" * 32, ("cd" * 32,))
    >>> DatasetDigests.from_text(digests.text) == digests
    True
    """

    declaration: str
    """The SHA-256 of all that is declared: it differs when anything does."""
    sources: tuple[str, ...]
    """For each place where rows of people are, the SHA-256 of that place, whatever its name."""
    text: str = field(init=False, repr=False, compare=False)
    """As an event keeps it."""

    def __post_init__(self) -> None:
        """See that they are digests, and bring them into an order."""
        listed = tuple(sorted(set(self.sources)))
        for digest in (self.declaration, *listed):
            if not isinstance(digest, str) or not texts.is_digest(digest):
                raise InvalidParameter("declared", digest, "SHA-256 digests in hexadecimal")
        object.__setattr__(self, "sources", listed)
        said = {"declaration": self.declaration, "sources": listed}
        object.__setattr__(self, "text", texts.canonical(said))

    @classmethod
    def from_text(cls, text: str) -> DatasetDigests:
        """Read back the text of an event; a ValueError if it is nothing of the kind."""
        try:
            read = json.loads(text)
            found = cls(read["declaration"], tuple(read["sources"]))
        except (KeyError, TypeError, RecursionError):
            raise ValueError(text) from None
        if found.text != text:
            raise ValueError(text)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDeclaration:
    """What was declared of a dataset from some time on.

    >>> RecordedDeclaration(
    ...     dataset="visits", time="2026-01-01T00:00:00Z", declared=DatasetDigests("ab" * 32, ())
    ... ).dataset
    'visits'
    """

    dataset: str
    time: str
    declared: DatasetDigests


def read_declarations(session: Session, account: str) -> tuple[RecordedDeclaration, ...]:
    """All declarations of an account, in their order."""
    return tuple(
        RecordedDeclaration(dataset=dataset, time=time, declared=_digests(detail, account))
        for dataset, time, detail in session.rows(sql.DECLARATIONS_OF, account=account)
    )


def _digests(detail: str, account: str) -> DatasetDigests:
    try:
        return DatasetDigests.from_text(detail)
    except (TypeError, ValueError):
        place = f"a declaration of account {account!r}"
        raise LedgerCorrupted(place, "it does not say what is declared") from None


def declare(
    store: Store, definition: AccountDefinition, dataset: str, declared: DatasetDigests
) -> None:
    """Record what is declared of a dataset, if that is not what was declared last.

    Raises:
        SourceKnown: its source was paid for under another name.
    """
    checked_declared({dataset: declared}, definition)
    name = definition.name
    with store.reading() as session:
        if _is_known(session, name, dataset, declared):
            return

    def work(session: Session) -> Journal:
        session.lock_accounts()
        refuse_known_sources(session, definition, {dataset: declared})
        journal = Journal(store, session, name)
        if not _is_known(session, name, dataset, declared):  # somebody else may have been faster
            journal.refuse_if_closed()
            journal.append("declared", dataset=dataset, detail=declared.text)
            journal.finish()
        return journal

    write_alone(store, work, account=name).committed()


def _is_known(session: Session, account: str, dataset: str, declared: DatasetDigests) -> bool:
    """Whether it was declared last, from a place that was named before.

    Machines may have the same catalog in different folders: they do not take turns to declare it.
    """
    earlier = [d.declared for d in read_declarations(session, account) if d.dataset == dataset]
    places = {source for each in earlier for source in each.sources}
    return (
        bool(earlier)
        and earlier[-1].declaration == declared.declaration
        and places.issuperset(declared.sources)
    )


def refuse_known_sources(
    session: Session, definition: AccountDefinition, declared: Mapping[str, DatasetDigests]
) -> None:
    """Refuse datasets whose source was paid for under another name, by an open or closed account.

    What an account has once declared of its own is not asked again; nor is an account that was
    opened beside others.
    """
    rows = [
        (account, known_as, frozenset(_digests(detail, account).sources))
        for account, known_as, detail in session.rows(sql.DECLARATIONS)
    ]
    own = {source for account, _, found in rows if account == definition.name for source in found}
    for dataset, wanted in declared.items():
        for account, known_as, found in rows:
            shared = found.intersection(wanted.sources)
            same = account == definition.name
            if not shared or known_as == dataset:
                continue
            if same or not (definition.beside or shared <= own):
                raise SourceKnown(account, dataset=dataset, known_as=known_as, same=same)


def checked_declared(
    declared: Mapping[str, DatasetDigests] | None, definition: AccountDefinition
) -> dict[str, DatasetDigests]:
    """What is declared of an account's datasets, in their order; or what is wrong with it."""
    given: dict[Any, Any] = dict(declared or {})
    for dataset, each in given.items():
        if dataset not in definition.datasets:
            valid = f"one of the account's: {', '.join(definition.datasets)}"
            raise InvalidParameter("dataset", dataset, valid)
        if not isinstance(each, DatasetDigests):
            raise InvalidParameter("declared", each, "DatasetDigests(...) for each dataset")
    return {dataset: given[dataset] for dataset in definition.datasets if dataset in given}
