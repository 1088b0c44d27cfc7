"""The ``quaestor`` command: its commands, its exit codes, and how it fails.

Exit status: 0 done, 2 bad input, 3 a budget refused, 4 an audit found a false claim, 1 anything
else.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import quaestor
from quaestor.cli.options import exit_status
from quaestor.cli.plain_values import read_plainly
from quaestor.errors import QuaestorError

__all__ = ["app", "main"]

_PATIENCE = (500_000, 20, 50)
"""How much is allocated before Python looks for garbage: a third of a start was spent looking."""

# typer has had click as a dependency and as a part of itself; this is its error in both cases
_ClickException: Any = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)

# Where each command is written, in ``quaestor.cli.commands``: only what was typed is imported.
_COMMANDS = {
    "epsilon": "composition.epsilon",
    "delta": "composition.delta",
    "explain": "composition.explain",
    "calibrate": "composition.calibrate",
    "count": "composition.count",
    "across": "across.across",
    "matrix": "noise.matrix",
    "variance": "noise.variance",
    "release": "release.release",
    "audit": "audit.audit",
    "region": "region.region",
    "init": "catalog.init",
    "preview": "query.preview",
    "query": "query.query",
    "serve": "serve.serve",
    "demo": "demo.demo",
}
_GROUPS = {
    "dataset": "catalog.dataset",
    "account": "account.account",
    "ledger": "ledger.ledger",
    "people": "people.people",
    "token": "people.token",
}
# What a group has beside the commands that its own module adds.
_IN_GROUPS = {
    "dataset": {
        "check": "dataset_limits.check",
        "tune": "dataset_limits.tune",
        "prepare": "dataset_limits.prepare",
    },
    "account": {
        "open": "account_open.open_account",
        "show": "account.show",
        "list": "account.list_accounts",
        "price": "account.price",
        "charge": "account.charge",
        "close": "account.close",
        "submit": "query.submit",
        "approvals": "account_approval.approvals",
        "approve": "account_approval.approve",
        "decline": "account_approval.decline",
        "history": "account_history.history",
        "report": "account_report.report",
    },
    "ledger": {
        "log": "ledger.log",
        "verify": "ledger.verify",
        "export": "ledger.export",
        "import": "ledger.import_history",
        "heads": "ledger_operations.heads",
        "backup": "ledger_operations.backup",
        "restore": "ledger_operations.restore",
        "pending": "ledger_operations.pending",
        "clock": "ledger_operations.clock",
    },
}


def _at(place: str) -> Any:
    module, _, name = place.partition(".")
    return getattr(import_module(f"quaestor.cli.commands.{module}"), name)


@cache
def _group(name: str) -> typer.Typer:
    group: typer.Typer = _at(_GROUPS[name])
    for command, place in _IN_GROUPS.get(name, {}).items():
        group.command(command)(_at(place))
    return group


def _assembled(*names: str) -> typer.Typer:
    """The command line with these commands and groups."""
    assembled = typer.Typer(
        name="quaestor",
        help=(
            "Differential privacy: exact composition, private SQL answers with a budget, "
            "and audits.\n\nWrite a release as in Python: [bold]PureDP(epsilon=0.1) * "
            "30[/bold], [bold]ApproxDP(epsilon=0.1, delta=1e-8)[/bold]. Give one or "
            "more, each in quotes.\n\nPrinted bounds are rounded up to a few digits; "
            "--json prints the certified interval."
        ),
        epilog="Start with:  quaestor explain --delta 1e-6 "
        '"ApproxDP(epsilon=0.1, delta=1e-8) * 30"',
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    assembled.callback()(_options)
    for name in names:
        if name in _COMMANDS:
            assembled.command(name)(_at(_COMMANDS[name]))
        else:
            assembled.add_typer(_group(name), name=name)
    return assembled


@cache
def _complete() -> typer.Typer:
    return _assembled(*_COMMANDS, *_GROUPS)


if TYPE_CHECKING:
    app: typer.Typer


def __getattr__(name: str) -> typer.Typer:
    if name == "app":
        return _complete()
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def _needed() -> typer.Typer:
    """What was typed: one command or group if its name comes first, all of them otherwise."""
    first = next(iter(sys.argv[1:]), "")
    alone = first in {*_COMMANDS, *_GROUPS} and "_QUAESTOR_COMPLETE" not in os.environ
    return _assembled(first) if alone else _complete()


def _version(wanted: bool) -> None:  # noqa: FBT001  # typer hands the flag over by position
    if wanted:
        typer.echo(f"quaestor {quaestor.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[  # noqa: FBT002  # acts in its callback
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> NoReturn:
    """Run the command line; errors become a sentence, or JSON, and an exit status."""
    gc.set_threshold(*_PATIENCE)
    atexit.register(gc.freeze)  # nor at the end: what is left goes with the process
    try:
        command = typer.main.get_command(_needed())
        read_plainly(command)
        status = command(standalone_mode=not _wants_json())
    except QuaestorError as error:
        _report(error.code, str(error), error.fields())
        sys.exit(exit_status(type(error)))
    except _ClickException as error:  # only where programs listen; people get a box
        _report("usage", error.format_message(), {})
        sys.exit(error.exit_code)
    except OSError as error:  # standard output went away, or is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            _report("output", f"cannot write the answer: {error.strerror}", {})
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


def _wants_json() -> bool:
    options = sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    return "--json" in options


def _report(code: str, message: str, fields: dict[str, Any]) -> None:
    if _wants_json():
        described = {"code": code, "message": message, **fields}
        sys.stderr.write(json.dumps({"error": described}) + "\n")
    else:
        sys.stderr.write(f"quaestor: {message}\n")
