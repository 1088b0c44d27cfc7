"""Entries: the charges of an account, each with what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.ledger import stored_text as texts
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.accounting.releases import Release
    from quaestor.ledger.store.base import Store

__all__ = ["Entry", "read_entries"]

_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One charge: who, what about, when, what is released, and how it stands.

    >>> from quaestor import PureDP
    >>> entry = Entry(
    ...     number=1, status="released", time="2026-01-01T00:00:00Z", analyst="ann",
    ...     dataset="visits", purpose="", query="", releases=(PureDP(epsilon=0.25),),
    ...     imported=False, statement="", settled=None, reason="", answer="42",
    ... )
    >>> entry.to_dict()["releases"]
    [{'type': 'PureDP', 'epsilon': 0.25}]
    """

    number: int
    status: str
    """``reserved``, ``released`` or ``void``."""
    time: str
    analyst: str
    dataset: str
    purpose: str
    query: str
    releases: tuple[Release, ...]
    imported: bool
    statement: str
    """For an imported history: the importer's statement of what was fixed before it began."""
    blocks: tuple[str, ...] = ()
    """The blocks of time that it is charged to, where the account has a budget for each."""
    settled: str | None
    """When it was released, or void."""
    reason: str
    """Why it is void, if it is."""
    answer: str
    """The SHA-256 of the stored answer, if one was stored."""
    audience: str = ""
    """Who may see the answer, if that is not as always."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        plain = {
            name: [release.to_dict() for release in self.releases]
            if name == "releases"
            else getattr(self, name)
            for name in Entry.__dataclass_fields__
        }
        blocks = plain.pop("blocks")
        return {**plain, "blocks": list(blocks)} if blocks else plain


def read_entries(store: Store, account: str, *, after: int) -> Iterator[Entry]:
    """Entries in their order, read page by page; later ones appear as they are made."""
    seq = after  # an entry's event comes later in the chain than its number says
    while True:
        with store.reading() as session:
            rows = session.rows(sql.ENTRIES, account=account, seq=seq, after=after, page=_PAGE)
        for row in rows:
            yield _entry(row[1:])
        if len(rows) < _PAGE:
            return
        seq = rows[-1][0]


def _entry(row: tuple[Any, ...]) -> Entry:
    number, kind, time, analyst, dataset, purpose, query, releases, *rest = row
    detail, settled_as, settled, reason, answer, audience = rest
    imported = kind == "imported"
    statement, blocks = texts.parts_of(detail)
    return Entry(
        number=number,
        status="released" if imported else settled_as or "reserved",
        time=time,
        analyst=analyst,
        dataset=dataset,
        purpose=purpose,
        query=query,
        releases=texts.releases_from_text(releases),
        imported=imported,
        statement=statement if imported else "",
        blocks=blocks,
        settled=time if imported else settled,
        reason=reason or "",
        answer=answer or "",
        audience=audience,
    )
