"""The ``serve`` command: analysts ask over HTTP, and the data stay here."""

from __future__ import annotations

from typing import Annotated

import typer

from quaestor.cli.drawing.numbers import say
from quaestor.cli.options import CatalogFile

__all__ = ["serve"]


def serve(  # noqa: PLR0913  # what an operator decides
    catalog: CatalogFile = None,
    port: Annotated[int, typer.Option("--port", help="The port to listen on.")] = 8080,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; this machine only by default.")
    ] = "127.0.0.1",
    dev: Annotated[  # noqa: FBT002
        bool,
        typer.Option("--dev", help="Make a throw-away owner and print a link to sign in with."),
    ] = False,
    processes: Annotated[
        int, typer.Option("--processes", help="More than one needs a ledger in PostgreSQL.")
    ] = 1,
    time_step: Annotated[
        float,
        typer.Option("--time-step", help="Seconds: new answers leave at whole multiples of it."),
    ] = 1.0,
    deadline: Annotated[
        float, typer.Option("--deadline", help="Seconds until a question's engine is stopped.")
    ] = 300.0,
    most_jobs: Annotated[
        int, typer.Option("--most-jobs", help="Unfinished questions one analyst may have.")
    ] = 16,
    rate: Annotated[
        float, typer.Option("--rate", help="Requests a second that one address may make.")
    ] = 200.0,
    grace: Annotated[
        float, typer.Option("--grace", help="Seconds to finish questions before it ends.")
    ] = 30.0,
) -> None:
    """Serve the catalog's tables: analysts ask over HTTP with a token, and see nothing else.

    Add people with [bold]quaestor people add[/bold], give them tokens with
    [bold]quaestor token create[/bold]; or start with --dev and sign in by the printed link.
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
    server.serve(settings, say=lambda words: say(words, plain=True))
