"""What a store's driver complains about, in our own words.

Nothing of the driver's message is repeated: it may hold an address with credentials in it, or what
was about to be written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.errors import LedgerCorrupted, LedgerUnavailable

if TYPE_CHECKING:
    from quaestor.errors import QuaestorError

__all__ = ["NOT_A_LEDGER", "SENTENCES", "postgres_trouble", "sqlite_trouble", "unavailable"]

SENTENCES = {
    "disk_full": "the disk with the ledger is full: nothing was charged; free some space",
    "read_only": (
        "the ledger is read-only: nothing was charged; give this process write "
        "access to the ledger and its folder"
    ),
    "unwritable": (
        "writing to the ledger failed: nothing was charged; check its disk, the disk "
        "quota and the limits of this process"
    ),
    "cannot_open": (
        "the ledger, or its backup, cannot be opened: check that its folder exists "
        "and that this process can read and write there"
    ),
    "locked": (
        "another process has locked the ledger for too long: nothing was charged; "
        "try again, and look for a process that hangs while writing"
    ),
    "lost_connection": (
        "the connection to the ledger's server was lost: nothing was released, but a "
        "charge in progress may have been recorded; try again"
    ),
    "unreachable": (
        "the ledger's server cannot be reached, or it refused this user: check that "
        "it runs, and check the address, user and password"
    ),
    "newer": "the ledger was written by a newer version of quaestor: install that version or a "
    "later one",
    "not_a_ledger": (
        "the file or database has tables that are not a ledger's: name another file or database"
    ),
    "outdated": (
        "the ledger was written by an older version of quaestor, and this process "
        "has only read access: open it once with write access"
    ),
    "crowded": "too many threads of this process use the ledger at once: nothing was charged; try "
    "again, with fewer of them",
    "emptied": (
        "the ledger's file is empty: nothing was charged; restore it from a backup "
        "(quaestor ledger restore), or delete the empty file if there never was a "
        "ledger"
    ),
    "replaced": (
        "the ledger's file was moved or replaced since it was opened: nothing was "
        "charged; find out which file is the ledger (quaestor ledger verify "
        "--heads), keep only that one, and restart this process"
    ),
    "second_name": (
        "the ledger's file has a second name (a hard link): nothing was charged; "
        "remove the other name, because a ledger under two names can be charged twice"
    ),
    "rolled_back": (
        "the ledger lacks entries that this process has seen: it was reset to an "
        "earlier state, or replaced; nothing was charged. Find the state with the "
        "latest heads (quaestor ledger verify --heads), restore it, and restart this "
        "process"
    ),
    "truncated": "the ledger's file or its log is shorter than it was: nothing was charged; "
    "restore it from a backup (quaestor ledger restore)",
    "backup": (
        "this is a backup of a ledger and takes no charges: restore it with  "
        "quaestor ledger restore"
    ),
    "not_a_backup": (
        "this is a ledger, not a backup: restoring it would create a second one; use "
        "it where it is, or back it up (quaestor ledger backup)"
    ),
    "taken": (
        "the target already exists and was not changed: name another place, or move it away first"
    ),
    "network": (
        "the ledger's file is on a network file system, where file locks are not "
        "reliable: nothing was charged; keep it on a local disk, or use PostgreSQL"
    ),
    "absent": (
        "there is no ledger at this address yet: open an account to create one, or "
        "correct the address"
    ),
    "failed": (
        "the ledger's database failed with an unknown error: nothing was released; "
        "check the database"
    ),
}

NOT_A_LEDGER = "it is damaged, or is not a ledger at all"

_SQLITE = {
    "SQLITE_FULL": "disk_full",
    "SQLITE_READONLY": "read_only",
    "SQLITE_PERM": "read_only",
    "SQLITE_IOERR_SHORT_READ": "truncated",
    "SQLITE_IOERR": "unwritable",
    "SQLITE_CANTOPEN": "cannot_open",
    "SQLITE_BUSY": "locked",
    "SQLITE_LOCKED": "locked",
    "SQLITE_PROTOCOL": "locked",
}
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT")

# https://www.postgresql.org/docs/current/errcodes-appendix.html: by code, then by class of codes
_POSTGRES = {
    "53100": "disk_full",
    "25006": "read_only",
    "42501": "read_only",
    "55P03": "locked",
    "40P01": "locked",
    "57014": "locked",
    "58030": "unwritable",
    "08": "lost_connection",
    "25P03": "locked",
    "57": "lost_connection",
    "28": "unreachable",
    "3D": "unreachable",
    "53": "failed",
}
_DAMAGED_POSTGRES = ("XX001", "XX002")


def unavailable(reason: str) -> LedgerUnavailable:
    """The error for a reason, with its sentence."""
    return LedgerUnavailable(reason, SENTENCES[reason])


def sqlite_trouble(problem: BaseException) -> QuaestorError:
    """What SQLite complains about, by its own name for it."""
    named = str(getattr(problem, "sqlite_errorname", ""))
    if named.startswith(_DAMAGED):
        return LedgerCorrupted("the file", NOT_A_LEDGER)
    for prefix, reason in _SQLITE.items():
        if named.startswith(prefix):
            return unavailable(reason)
    if isinstance(problem, UnicodeDecodeError) or "decode to UTF-8" in str(problem):
        return LedgerCorrupted("the file", "it contains text that is not valid UTF-8")
    return unavailable("failed")


def postgres_trouble(problem: BaseException, *, connected: bool) -> QuaestorError:
    """What PostgreSQL complains about, by its SQLSTATE."""
    state = getattr(problem, "sqlstate", None)
    if not connected:
        return unavailable("unreachable")
    if not isinstance(state, str):
        return unavailable("lost_connection")
    if state in _DAMAGED_POSTGRES:
        return LedgerCorrupted("the database", "the server reports damaged data")
    reason = _POSTGRES.get(state) or _POSTGRES.get(state[:2]) or "failed"
    return unavailable(reason)
