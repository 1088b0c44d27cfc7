"""The ``quaestor`` command: its commands, its exit codes, and how it fails.

Exit status: 0 done, 2 bad input, 3 a budget refused, 4 an audit found a false claim, 1 anything
else.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any, NoReturn

import typer

import quaestor
from quaestor.cli.commands import (
    account,
    account_approval,
    account_history,
    account_open,
    account_report,
    across,
    audit,
    catalog,
    composition,
    dataset_limits,
    demo,
    ledger,
    ledger_operations,
    people,
    query,
    region,
    release,
    serve,
    variance,
)
from quaestor.cli.options import REFUSED
from quaestor.errors import BudgetExceeded, InvalidParameter, QuaestorError

__all__ = ["app", "main"]

# typer has had click as a dependency and as a part of itself; this is its error in both cases
_ClickException: Any = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)

app = typer.Typer(
    name="quaestor",
    help=(
        "Differential privacy: exact composition, private SQL answers with a budget, "
        "and audits.\n\nWrite a release as in Python: [bold]PureDP(epsilon=0.1) * "
        "30[/bold], [bold]ApproxDP(epsilon=0.1, delta=1e-8)[/bold]. Give one or "
        "more, each in quotes.\n\nPrinted bounds are rounded up to a few digits; "
        "--json prints the certified interval."
    ),
    epilog='Start with:  quaestor explain --delta 1e-6 "ApproxDP(epsilon=0.1, delta=1e-8) * 30"',
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)

app.command("epsilon")(composition.epsilon)
app.command("delta")(composition.delta)
app.command("explain")(composition.explain)
app.command("calibrate")(composition.calibrate)
app.command("count")(composition.count)
app.command("across")(across.across)
app.command("variance")(variance.variance)
app.command("release")(release.release)
app.command("audit")(audit.audit)
app.command("region")(region.region)
app.command("init")(catalog.init)
app.add_typer(catalog.dataset, name="dataset")
catalog.dataset.command("check")(dataset_limits.check)
catalog.dataset.command("tune")(dataset_limits.tune)
app.command("preview")(query.preview)
app.command("query")(query.query)

app.add_typer(account.account, name="account")
account.account.command("open")(account_open.open_account)
account.account.command("show")(account.show)
account.account.command("list")(account.list_accounts)
account.account.command("price")(account.price)
account.account.command("charge")(account.charge)
account.account.command("close")(account.close)
account.account.command("submit")(query.submit)
account.account.command("approvals")(account_approval.approvals)
account.account.command("approve")(account_approval.approve)
account.account.command("decline")(account_approval.decline)
account.account.command("history")(account_history.history)
account.account.command("report")(account_report.report)

app.add_typer(ledger.ledger, name="ledger")
ledger.ledger.command("log")(ledger.log)
ledger.ledger.command("verify")(ledger.verify)
ledger.ledger.command("export")(ledger.export)
ledger.ledger.command("import")(ledger.import_history)
ledger.ledger.command("heads")(ledger_operations.heads)
ledger.ledger.command("backup")(ledger_operations.backup)
ledger.ledger.command("restore")(ledger_operations.restore)
ledger.ledger.command("pending")(ledger_operations.pending)
ledger.ledger.command("clock")(ledger_operations.clock)

app.command("serve")(serve.serve)
app.add_typer(people.people, name="people")
app.add_typer(people.token, name="token")

app.command("demo")(demo.demo)


def _version(wanted: bool) -> None:  # noqa: FBT001  # typer hands the flag over by position
    if wanted:
        typer.echo(f"quaestor {quaestor.__version__}")
        raise typer.Exit


@app.callback()
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
    try:
        status = app(standalone_mode=not _wants_json())
    except QuaestorError as error:
        _report(error.code, str(error), error.fields())
        sys.exit(_status(error))
    except _ClickException as error:  # only where programs listen; people get a box
        _report("usage", error.format_message(), {})
        sys.exit(error.exit_code)
    except OSError as error:  # standard output went away, or is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            _report("output", f"cannot write the answer: {error.strerror}", {})
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


def _status(error: QuaestorError) -> int:
    if isinstance(error, BudgetExceeded):
        return REFUSED
    return 2 if isinstance(error, InvalidParameter) else 1


def _wants_json() -> bool:
    options = sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    return "--json" in options


def _report(code: str, message: str, fields: dict[str, Any]) -> None:
    if _wants_json():
        described = {"code": code, "message": message, **fields}
        sys.stderr.write(json.dumps({"error": described}) + "\n")
    else:
        sys.stderr.write(f"quaestor: {message}\n")
