"""The ledger that a command works on, opened; an error says how to name another."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from quaestor.errors import LedgerUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.ledger import Ledger

__all__ = ["opened"]


@contextmanager
def opened(given: str | None, *, create: bool = False, read_only: bool = False) -> Iterator[Ledger]:
    """The ledger there, for as long as it is needed; an address is never shown."""
    from quaestor.curator.catalog.nearest import ledger_address
    from quaestor.ledger import Ledger

    place = ledger_address(given)
    try:
        ledger = Ledger(place, create=create, read_only=read_only)
    except LedgerUnavailable as problem:
        if problem.reason == "outdated":  # whoever may write brings it up to date
            with opened(given) as ledger:
                yield ledger
            return
        if problem.reason != "absent":
            raise
        where = "at that address" if "://" in place else f"in {place!r}"
        raise LedgerUnavailable(
            "absent",
            (
                f"there is no ledger {where}: open an account to create one, or name its "
                "place with --ledger or the environment variable QUAESTOR_LEDGER"
            ),
        ) from None
    with ledger:
        yield ledger
