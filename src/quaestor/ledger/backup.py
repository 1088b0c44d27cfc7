"""Backups of a ledger: a file with one state of it, and a ledger made of such a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter
from quaestor.ledger import stored_text as texts
from quaestor.ledger.accounts import Ledger
from quaestor.ledger.jobs import undrawn
from quaestor.ledger.journal.appender import Journal
from quaestor.ledger.store import people_statements as people_sql
from quaestor.ledger.store import statements as sql
from quaestor.ledger.store.address import open_store
from quaestor.ledger.store.driver_errors import unavailable
from quaestor.ledger.store.row_copies import back_up, put_back

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quaestor.ledger.journal.verification import Verification
    from quaestor.ledger.store.base import Session

__all__ = ["backup_ledger", "restore_ledger"]


def backup_ledger(ledger: Ledger, path: str | Path) -> tuple[Verification, ...]:
    """Write one state of a ledger to a new file, while others go on; what was verified of it.

    The file is SQLite, whichever store the ledger has. It can be read and verified, and takes no
    charges. Note the heads that this returns where those who write to the ledger cannot.

    >>> from tempfile import TemporaryDirectory
    >>> from quaestor.ledger import AccountDefinition, Ledger
    >>> trial = AccountDefinition(name="trial", epsilon=1.0, delta=1e-6, datasets=("patients",))
    >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/ledger.db") as ledger:
    ...     account = ledger.open_account(trial)
    ...     [each.account for each in backup_ledger(ledger, f"{folder}/backup.db")]
    ['trial']
    """
    place = Path(path).resolve()
    back_up(ledger._store, place)  # noqa: SLF001  # another half of the same thing
    with Ledger(place, read_only=True) as copy:
        return copy.verify()


def restore_ledger(
    backup: str | Path,
    location: str | Path,
    *,
    reason: str,
    heads: Mapping[str, str | Sequence[str]] | None = None,
) -> tuple[Verification, ...]:
    """Make a ledger of a backup, at a place where there is none; the reason goes into its chains.

    What was charged after the backup is not in it, and was spent nevertheless. Tokens and sessions
    end: some may have been revoked after it.

    Args:
        backup: a file that :func:`backup_ledger` wrote.
        location: where the ledger is to be: a path, or an address.
        reason: why, in one line.
        heads: heads that were noted elsewhere; the backup must contain them.

    Raises:
        LedgerCorrupted: the backup is damaged, or older than the heads.

    >>> from tempfile import TemporaryDirectory
    >>> from quaestor.ledger import AccountDefinition, Ledger
    >>> trial = AccountDefinition(name="trial", epsilon=1.0, delta=1e-6, datasets=("patients",))
    >>> with TemporaryDirectory() as folder:
    ...     with Ledger(f"{folder}/ledger.db") as ledger:
    ...         account = ledger.open_account(trial)
    ...         saved = backup_ledger(ledger, f"{folder}/backup.db")
    ...     back = restore_ledger(f"{folder}/backup.db", f"{folder}/new.db", reason="a new disk")
    ...     [each.account for each in back]
    ['trial']
    """
    said = texts.line("reason", reason)
    if not said:
        raise InvalidParameter("reason", reason, "one line with the reason for restoring")
    with Ledger(Path(backup), read_only=True) as source:
        kept = source._store  # noqa: SLF001  # another half of the same thing
        if kept.identity.kind != "backup":
            raise unavailable("not_a_backup")
        source.verify(heads=heads)
        store = open_store(location, create=True)
        try:

            def finish(session: Session) -> None:
                now = session.now()  # what was revoked after the backup would be valid again
                session.run(people_sql.END_CREDENTIALS, time=now)
                session.run(people_sql.CANCEL_QUESTIONS, time=now)
                for name, _ in session.rows(sql.ACCOUNTS):
                    journal = Journal(store, session, name, time_after=max)
                    journal.append("restored", detail=said)
                    for entry in undrawn(session, name):  # maybe they were, after the backup
                        journal.append("drawing", entry=entry, detail="restored")
                    journal.finish()

            put_back(kept, store, finish)
        finally:
            store.close()
    with Ledger(location, create=False) as restored:
        return restored.verify(heads=heads)
