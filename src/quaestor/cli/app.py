"""The ``quaestor`` command: its commands, its exit codes, and how it fails.

Exit status: 0 done, 2 bad input, 1 anything else.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, NoReturn

import typer

import quaestor
from quaestor.cli import accounting, demo, region
from quaestor.errors import InvalidParameter, QuaestorError

__all__ = ["app", "main"]

app = typer.Typer(
    name="quaestor",
    help="How much privacy is lost when many private answers are given, exactly.\n\n"
    "A release is written as in Python: [bold]PureDP(epsilon=0.1) * 30[/bold], "
    "[bold]ApproxDP(epsilon=0.1, delta=1e-8)[/bold]. Give as many as there are; quote each.\n\n"
    "Numbers for people are rounded to the safe side; --json gives certified intervals.",
    epilog='Start with:  quaestor explain --delta 1e-6 "ApproxDP(epsilon=0.1, delta=1e-8) * 30"',
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)

app.command("epsilon")(accounting.epsilon)
app.command("delta")(accounting.delta)
app.command("explain")(accounting.explain)
app.command("calibrate")(accounting.calibrate)
app.command("count")(accounting.count)
app.command("region")(region.region)
app.command("demo")(demo.demo)


def _version(wanted: bool) -> None:  # noqa: FBT001  # typer hands the flag over by position
    if wanted:
        typer.echo(f"quaestor {quaestor.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # noqa: FBT002  # acts in its callback
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> NoReturn:
    """Run the command line; errors become a sentence, or JSON, and an exit status."""
    try:
        app()
    except QuaestorError as error:
        _report(error)
        sys.exit(2 if isinstance(error, InvalidParameter) else 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(0)


def _report(error: QuaestorError) -> None:
    if "--json" in sys.argv:
        described = {"code": error.code, "message": str(error), **error.fields()}
        sys.stderr.write(json.dumps({"error": described}) + "\n")
    else:
        sys.stderr.write(f"quaestor: {error}\n")
