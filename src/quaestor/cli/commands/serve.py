"""The ``serve`` command: analysts ask over HTTP, and the data stay here."""

from __future__ import annotations

import gc
from typing import Annotated

import typer

from quaestor.cli.drawing.numbers import say
from quaestor.cli.options import CatalogFile

__all__ = ["serve"]

_USUAL = (700, 10, 10)
"""How often Python looks for garbage by itself; commands that end soon hardly do."""


def serve(  # noqa: PLR0913  # what an operator decides
    catalog: CatalogFile = None,
    port: Annotated[int, typer.Option("--port", help="The TCP port to listen on.")] = 8080,
    host: Annotated[
        str,
        typer.Option(
            "--host", help="The address to listen on; by default only this machine can connect."
        ),
    ] = "127.0.0.1",
    dev: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--dev", help="Create a temporary owner and print a sign-in link, to try the service."
        ),
    ] = False,
    processes: Annotated[
        int,
        typer.Option(
            "--processes",
            help=("The number of server processes; more than one requires a ledger in PostgreSQL."),
        ),
    ] = 1,
    time_step: Annotated[
        float,
        typer.Option(
            "--time-step",
            help=(
                "Deliver answers only at multiples of this many seconds, to hide how long "
                "they took."
            ),
        ),
    ] = 1.0,
    deadline: Annotated[
        float,
        typer.Option(
            "--deadline", help="The most seconds that a question may run in the database."
        ),
    ] = 300.0,
    most_jobs: Annotated[
        int, typer.Option("--most-jobs", help="The most unfinished questions per analyst.")
    ] = 16,
    rate: Annotated[
        float, typer.Option("--rate", help="The most requests per second from one address.")
    ] = 200.0,
    grace: Annotated[
        float,
        typer.Option("--grace", help="The most seconds to finish running questions at shutdown."),
    ] = 30.0,
) -> None:
    """Run the service: analysts ask over HTTP or in a browser, and never touch the data.

    Add people with [bold]quaestor people add[/bold] and give them tokens with
    [bold]quaestor token create[/bold]; or start with --dev and open the printed link.
    """
    from quaestor.errors import MissingExtra

    try:
        import fastapi  # noqa: F401  # to say which extra brings it
    except ImportError:
        raise MissingExtra("fastapi", extra="service", purpose="the service") from None
    from quaestor.service import server
    from quaestor.service.settings import ServiceSettings

    settings = ServiceSettings(
        catalog=None if catalog is None else str(catalog),
        host=host,
        port=port,
        processes=processes,
        time_step=time_step,
        deadline=deadline,
        most_jobs=most_jobs,
        rate=rate,
        grace=grace,
        dev=dev,
    )
    gc.set_threshold(*_USUAL)
    server.serve(settings, say=lambda words: say(words, plain=True))
