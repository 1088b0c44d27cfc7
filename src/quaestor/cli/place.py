"""Where the ledger is: an option, or the environment, or a file in the folder one is in."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from quaestor.errors import LedgerUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.ledger import Ledger

__all__ = ["HERE", "Place", "opened"]

HERE = "ledger.db"

Place = Annotated[
    str,
    typer.Option(
        "--ledger",
        envvar="QUAESTOR_LEDGER",
        help="A file, or an address such as postgresql://user@host/database.",
    ),
]


@contextmanager
def opened(place: str, *, create: bool = False) -> Iterator[Ledger]:
    """The ledger there, for as long as it is needed; an address is never shown."""
    from quaestor.ledger import Ledger

    try:
        ledger = Ledger(place, create=create)
    except LedgerUnavailable as problem:
        if problem.reason != "absent":
            raise
        where = "at that address" if "://" in place else f"in {place!r}"
        raise LedgerUnavailable(
            "absent",
            f"there is no ledger {where}: open an account to make one, or say where it is with "
            "--ledger or with the environment variable QUAESTOR_LEDGER",
        ) from None
    with ledger:
        yield ledger
