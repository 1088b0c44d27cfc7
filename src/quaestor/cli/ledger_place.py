"""Where the ledger is: an option, the environment, the catalog, or a file in this folder."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from quaestor.errors import InvalidCatalog, LedgerUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.ledger import Ledger

__all__ = ["HERE", "Place", "address", "opened"]

HERE: str | None = None
"""The ledger that the nearest catalog names; without a catalog, ``ledger.db`` in this folder."""

_FILE = "ledger.db"

Place = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        envvar="QUAESTOR_LEDGER",
        help="A file, or an address such as postgresql://user@host/database, if not the catalog's.",
    ),
]


@contextmanager
def opened(given: str | None, *, create: bool = False, read_only: bool = False) -> Iterator[Ledger]:
    """The ledger there, for as long as it is needed; an address is never shown."""
    from quaestor.ledger import Ledger

    place = address(given)
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
            f"there is no ledger {where}: open an account to make one, or say where it is with "
            "--ledger or with the environment variable QUAESTOR_LEDGER",
        ) from None
    with ledger:
        yield ledger


def address(given: str | None) -> str:
    """Where the ledger is: as it was given, or as the nearest catalog says."""
    if given is not None:
        return given
    from quaestor.curator.catalog.catalog_file import find_catalog, read_catalog

    try:
        path = find_catalog()
    except InvalidCatalog:
        return _FILE
    return read_catalog(path).ledger_address()
