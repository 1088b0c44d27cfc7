"""What is asked of an account: releases of a dataset, for an analyst, with a purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter
from quaestor.ledger import stored_text as texts
from quaestor.ledger.fitness import refuse_misfits
from quaestor.ledger.policies.kinds import checked_releases

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release
    from quaestor.ledger.definition import AccountDefinition

__all__ = ["Request", "checked_request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One charge that somebody would like to make."""

    releases: tuple[Release, ...]
    dataset: str
    analyst: str = ""
    purpose: str = ""
    query: str = ""
    realised: bool = False
    """Whether it is a history of which nobody has stated that what it is held to was fixed before
    it began."""
    statement: str = ""
    """For an imported history: the importer's statement that it was."""


def checked_request(  # noqa: PLR0913  # what an entry says
    definition: AccountDefinition,
    releases: object,
    *,
    dataset: str | None,
    analyst: str,
    purpose: str = "",
    query: str = "",
    query_text: str | None = None,
    by_owner: bool = False,
) -> Request:
    """The request, or an error that says what is wrong with it.

    Where there are quotas it needs a name, unless it is the owner who asks what would fit. The
    text of a query stands for its digest.
    """
    if query_text is not None:
        digest = texts.query_digest(query_text)
        if query not in ("", digest):
            raise InvalidParameter("query", query, "left out, or the digest of query_text")
        query = digest
    if dataset is None and len(definition.datasets) == 1:
        dataset = definition.datasets[0]
    if dataset not in definition.datasets:
        valid = f"one of the account's: {', '.join(definition.datasets)}"
        raise InvalidParameter("dataset", dataset, valid)
    if analyst or (definition.shares and not by_owner):
        texts.name("analyst", analyst)
    listed = checked_releases("releases", releases)
    refuse_misfits("releases", listed)
    return Request(
        releases=listed,
        dataset=dataset,
        analyst=analyst,
        purpose=texts.line("purpose", purpose),
        query=texts.line("query", query),
    )
