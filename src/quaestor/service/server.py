"""Running a service: uvicorn, one process or several, and a throw-away owner for trying it out."""

from __future__ import annotations

import secrets
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter, MissingExtra, QuaestorError
from quaestor.service.settings import ServiceSettings

if TYPE_CHECKING:
    from quaestor.ledger import People

__all__ = ["is_loopback", "serve"]

_MOST_CONNECTIONS = 1000  # of one process; who comes then is told to come later


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def serve(settings: ServiceSettings, *, say: Callable[[str], None]) -> None:
    """Serve until the process is told to end; ``say`` is told what people have to know."""
    try:
        import uvicorn
    except ImportError:
        raise MissingExtra("uvicorn", extra="service", purpose="the service") from None
    from quaestor.service.app import open_curator
    from quaestor.service.connection import PatientConnection
    from quaestor.service.request_log import set_up_logs

    with open_curator(settings) as curator:
        address = curator.catalog.ledger_address()
        if settings.processes > 1 and "://" not in address:
            valid = "1, unless the ledger is in PostgreSQL"
            raise InvalidParameter("processes", settings.processes, valid)
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{shown}:{settings.port}"
    settings.to_environment()
    signal.signal(signal.SIGTERM, _end)  # uvicorn ends first, and then raises it again
    with _owner(settings, url=url, say=say):
        say(f"Serving on {url} (stop it with Ctrl-C)")
        if not is_loopback(settings.host):
            say(
                "Warning: others can reach this address, and without TLS they can read tokens and "
                "answers on the way. Put a proxy with TLS in front: docs/guide/deployment.md"
            )
        uvicorn.run(
            "quaestor.service.app:app_from_environment",
            factory=True,
            host=settings.host,
            port=settings.port,
            workers=settings.processes,
            log_config=set_up_logs(),
            access_log=False,
            http=PatientConnection,
            ws="none",
            limit_concurrency=_MOST_CONNECTIONS,
            server_header=False,
            timeout_graceful_shutdown=5,
            timeout_keep_alive=15,
        )


def _end(_signal: int, _frame: object) -> None:
    sys.exit(0)


@contextmanager
def _owner(settings: ServiceSettings, *, url: str, say: Callable[[str], None]) -> Iterator[None]:
    """For ``--dev``: an owner who may do everything, until the service ends."""
    if not settings.dev:
        yield
        return
    from quaestor.ledger import ROLES
    from quaestor.service.app import open_curator

    name = f"dev-{secrets.token_hex(3)}"
    with open_curator(settings) as curator:
        people = curator.ledger.people
        people.add(name, roles=ROLES, by="quaestor serve --dev")
        link = people.create_link(name, by="quaestor serve --dev")
    say(f"Sign in as {name}, once, within 15 minutes: {url}/sign-in?link={link}")
    try:
        yield
    finally:
        with suppress(QuaestorError), open_curator(settings) as curator:
            _retire(curator.ledger.people, name)


def _retire(people: People, name: str) -> None:
    try:
        people.change(name, active=False, by="quaestor serve --dev")
    except InvalidParameter:  # the only owner stays one in name, and can use nothing any more
        for kind in ("token", "session"):
            for each in people.credentials(kind, person=name):
                people.revoke(each.id, kind=kind, by="quaestor serve --dev")
