"""The ledger, for auditors: verification, heads, what is pending, and exports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from fastapi.responses import PlainTextResponse, StreamingResponse

from quaestor.curator.reports.deployment_facts import facts_of
from quaestor.curator.reports.nist_worksheet import nist_worksheet
from quaestor.curator.reports.registry_record import registry_record
from quaestor.service.core import TheService
from quaestor.service.problems import plain
from quaestor.service.rules import RouteFamily, only

__all__ = ["routes"]

routes = RouteFamily("/api/v1/ledger", tag="ledger")
_READERS = only("owner", "auditor")


@routes.get("/verification", may=_READERS)
def verify(service: TheService) -> dict[str, Any]:
    """Check every account's chain, its balances and answers, and the audit trail."""
    verified = service.ledger.verify()
    return {
        "accounts": [
            {"account": each.account, "entries": each.entries, "head": each.head}
            for each in verified
        ],
        "trail": service.people.verify(),
    }


@routes.get("/heads", may=_READERS)
def heads(service: TheService) -> dict[str, Any]:
    """The head of every account's chain: note them where this service cannot write."""
    return {"heads": service.ledger.heads()}


@routes.get("/pending", may=_READERS)
def pending(service: TheService) -> dict[str, Any]:
    """Charges that are not settled, and what can be done about each."""
    return {"pending": [plain(each.to_dict()) for each in service.ledger.pending()]}


@routes.get(
    "/export",
    may=_READERS,
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"application/x-ndjson": {}, "text/csv": {}},
            "description": "The events, in the form that was asked for.",
        }
    },
)
def export(
    service: TheService,
    form: Annotated[Literal["jsonl", "csv"], Query()] = "jsonl",
    account: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Every event of one account, or of all, as lines of JSON or as CSV."""
    lines: Iterator[str] = service.ledger.export(form, account=account)
    media = "text/csv" if form == "csv" else "application/x-ndjson"
    return StreamingResponse(lines, media_type=media)


@routes.get("/reports/{account}", may=_READERS, response_class=PlainTextResponse)
def report(
    account: str,
    service: TheService,
    form: Annotated[Literal["registry", "nist"], Query()] = "registry",
) -> Response:
    """A record for the registry of deployments (YAML), or a worksheet after NIST SP 800-226."""
    facts = facts_of(service.ledger, account, service.curator.catalog)
    if form == "registry":
        return PlainTextResponse(registry_record(facts), media_type="application/yaml")
    return PlainTextResponse(nist_worksheet(facts), media_type="text/markdown")


@routes.get("/trail", may=_READERS)
def trail(
    service: TheService,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """The audit trail: sign-ins, and changes of people, roles and tokens."""
    return {"trail": [each.to_dict() for each in service.people.trail(after=after, most=most)]}
