"""What the routes of a service have in common: curator, ledger, people and questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

import anyio
import anyio.to_thread
from fastapi import Depends
from starlette.requests import Request

from quaestor.errors import QuaestorError
from quaestor.service.event_streams import StreamLimit
from quaestor.service.identity.callers import Callers
from quaestor.service.identity.handshake import Handshakes
from quaestor.service.identity.provider import IdentityProvider
from quaestor.service.job_runner import JobRunner
from quaestor.service.metrics import RequestCounts
from quaestor.service.request_log import log_event, log_failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.session import Curator
    from quaestor.ledger import Account
    from quaestor.service.identity.callers import Caller
    from quaestor.service.settings import ServiceSettings

__all__ = ["ServiceCore", "TheService"]

_CALCULATIONS = 2  # at once, beside the threads for requests
_Asked = TypeVar("_Asked")
_Found = TypeVar("_Found")


class ServiceCore:
    """One service over one catalog and its ledger."""

    def __init__(self, curator: Curator, settings: ServiceSettings) -> None:
        """Keep the curator; nothing runs before :meth:`start`."""
        self.curator, self.settings = curator, settings
        self.ledger = curator.ledger
        self.people, self.questions = self.ledger.people, self.ledger.questions
        self.callers, self.counts = Callers(self.people), RequestCounts()
        self.handshakes = Handshakes(self.people)
        plan = curator.catalog.provider
        self.provider = None if plan is None else IdentityProvider(plan)
        self.runner = JobRunner(curator, settings)
        self.streams = StreamLimit(settings.most_jobs)
        self._calculations = anyio.CapacityLimiter(_CALCULATIONS)
        self.ready = False

    @property
    def provider_name(self) -> str | None:
        """What people call the identity provider; None if none is configured.

        A sign-in page shows it in a link (not in a form: the policy of our pages keeps forms from
        leading elsewhere) to ``/sign-in/oidc``.
        """
        return None if self.provider is None else self.provider.name

    def start(self) -> None:
        """Warm everything up, then work on what was left behind."""
        try:
            self.curator.warm_up()
        except QuaestorError as problem:  # an engine that is down now may be up later
            log_failure("warm_up", problem)
        self.runner.start()
        self.ready = True
        log_event("ready")

    def close(self) -> None:
        """Finish or settle what is under way."""
        self.ready = False
        self.runner.close()
        self.curator.close()

    async def computed(self, function: Callable[[_Asked], _Found], asked: _Asked) -> _Found:
        """The value of a function that may take long: few of these are computed at once."""
        return await anyio.to_thread.run_sync(function, asked, limiter=self._calculations)

    def seen_by(self, caller: Caller, account: Account) -> str:
        """Whose figures of an account somebody is shown: the own quota's, or (empty) all.

        With quotas, the total would tell an analyst what others have charged.
        """
        return caller.name if account.definition.shares and not caller.oversees else ""


def _service(request: Request) -> ServiceCore:
    service: ServiceCore = request.app.state.service
    return service


TheService = Annotated[ServiceCore, Depends(_service)]
"""The service that a route belongs to."""
