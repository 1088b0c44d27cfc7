"""Options and arguments that several commands share, each with one wording."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quaestor.errors import BudgetExceeded, InvalidParameter, QuaestorError

__all__ = [
    "HERE",
    "REFUSED",
    "AccountName",
    "CatalogFile",
    "Delta",
    "Epsilon",
    "Expressions",
    "Json",
    "LedgerPlace",
    "PolicyKind",
    "Verbose",
    "exit_status",
]

HERE: str | None = None
"""The ledger that the nearest catalog names; without a catalog, ``ledger.db`` in this folder."""

REFUSED = 3
"""The exit status of what does not fit a budget or a limit."""

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Also print certified intervals and every limit of the account."
    ),
]
Expressions = Annotated[
    list[str],
    typer.Argument(
        metavar="RELEASE...",
        help=(
            'One or more releases, each quoted, such as "ApproxDP(epsilon=0.1, delta=1e-8) * 30".'
            " A curve in a CSV file is @curve.csv, with the columns epsilon,delta or order,epsilon."
        ),
        show_default=False,
    ),
]
Epsilon = Annotated[
    float, typer.Option("--epsilon", "-e", help="The epsilon of all releases together.")
]
Delta = Annotated[
    float, typer.Option("--delta", "-d", help="The delta of all releases together, such as 1e-6.")
]
AccountName = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of the account.", show_default=False)
]
CatalogFile = Annotated[
    Path | None,
    typer.Option(
        "--catalog",
        help=("The catalog file; by default the nearest quaestor.toml, in this folder or above."),
    ),
]
LedgerPlace = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        envvar="QUAESTOR_LEDGER",
        help=(
            "The ledger: a file, or an address such as postgresql://user@host/database; "
            "by default the one that the catalog names."
        ),
    ),
]


class PolicyKind(StrEnum):
    """What an account keeps to."""

    OPEN = "open"
    PLANNED = "planned"
    DASHBOARD = "dashboard"
    BLOCKS = "blocks"


def exit_status(kind: type[QuaestorError]) -> int:
    """The exit status of a command that fails with an error of this kind."""
    if issubclass(kind, BudgetExceeded):
        return REFUSED
    return 2 if issubclass(kind, InvalidParameter) else 1
