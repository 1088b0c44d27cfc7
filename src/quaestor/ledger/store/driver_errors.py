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
    "disk_full": "the disk that holds the ledger is full: nothing was charged; free some space",
    "read_only": "the ledger can be read and not written: nothing was charged; give this process "
    "the right to write to the ledger and to its folder",
    "unwritable": "writing to the ledger failed: nothing was charged; look at the disk that holds "
    "it, its quota, and the limits of this process",
    "cannot_open": "the ledger, or its backup, cannot be opened: see that its folder exists and "
    "that this process may read and write there",
    "locked": "others have kept the ledger locked for too long: nothing was charged; try again, "
    "and look for a process that hangs while it writes",
    "lost_connection": "the connection to the ledger's server was lost: nothing is released; if "
    "a charge was under way it may be in place; try again",
    "unreachable": "the ledger's server cannot be reached, or it refused this user: see that it "
    "runs, and that address, user and password are right",
    "newer": "the ledger was written by a newer version of quaestor: install that version or a "
    "later one",
    "not_a_ledger": "what was opened holds tables that are not a ledger's: name another file or "
    "database",
    "outdated": "the ledger was written by an older version of quaestor, and this process may only "
    "read it: have it opened once by somebody who may write to it",
    "crowded": "too many threads of this process use the ledger at once: nothing was charged; try "
    "again, with fewer of them",
    "emptied": "the ledger's file is there and empty: nothing was charged; restore it from a "
    "backup (quaestor ledger restore), or remove the empty file if there never was a ledger",
    "replaced": "the ledger's file was moved away or replaced since it was opened: nothing was "
    "charged; find out which of both is the ledger (quaestor ledger verify --heads), keep that one "
    "only, and start this process again",
    "second_name": "the ledger's file has a second name (a hard link): nothing was charged; remove "
    "the other name, for a ledger under two names is charged twice",
    "rolled_back": "the ledger does not contain what this process has seen in it: it was put back "
    "to an earlier state, or another took its place; nothing was charged. Find the state with the "
    "latest heads (quaestor ledger verify --heads), restore it, and start this process again",
    "truncated": "the ledger's file or its log is shorter than it was: nothing was charged; "
    "restore it from a backup (quaestor ledger restore)",
    "backup": "this is the backup of a ledger, and takes no charges: quaestor ledger restore makes "
    "a ledger of it",
    "not_a_backup": "this is a ledger and not the backup of one: to restore it would make two of "
    "it; use it where it is, or make a backup of it (quaestor ledger backup)",
    "taken": "there is something at that place already, and it was left alone: name another place, "
    "or move it away first",
    "network": "the ledger's file is on a network file system, where locks cannot be relied upon: "
    "nothing was charged; keep it on a local disk, or use PostgreSQL",
    "absent": "there is no ledger there yet: open an account to make one, or correct the address",
    "failed": "the ledger's store failed in a way that is not known here: nothing is released; "
    "look at the store itself",
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
        return LedgerCorrupted("the file", "it holds texts that are none")
    return unavailable("failed")


def postgres_trouble(problem: BaseException, *, connected: bool) -> QuaestorError:
    """What PostgreSQL complains about, by its SQLSTATE."""
    state = getattr(problem, "sqlstate", None)
    if not connected:
        return unavailable("unreachable")
    if not isinstance(state, str):
        return unavailable("lost_connection")
    if state in _DAMAGED_POSTGRES:
        return LedgerCorrupted("the database", "the server says that its data are damaged")
    reason = _POSTGRES.get(state) or _POSTGRES.get(state[:2]) or "failed"
    return unavailable(reason)
