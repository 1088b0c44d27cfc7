"""The policy ``dashboard``: the queries themselves are declared, each by its text."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.accounting.releases import counts_of
from quaestor.errors import InvalidParameter
from quaestor.ledger import stored_text as texts
from quaestor.ledger.policies.base import register, releases_from_dicts
from quaestor.ledger.policies.declared import Declared, Slot
from quaestor.ledger.price import checked_releases

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from quaestor.accounting.releases import Release
    from quaestor.ledger.policies.base import Terms
    from quaestor.ledger.price import Request

__all__ = ["Dashboard"]


@register
@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard(Declared):
    """The queries themselves are fixed in advance: for each digest its dataset and releases.

    Nothing depends on answers, and non-adaptive composition holds. Each query is answered once;
    its stored answer may be read again and again. A query is known by the SHA-256 of its text,
    and a charge presents that text: a name could be given to any query, after other answers.
    :meth:`of` takes the texts themselves.

    >>> from quaestor import PureDP
    >>> page = Dashboard.of({"SELECT COUNT(*) FROM visits": ("visits", [PureDP(epsilon=0.25)])})
    >>> len(page.queries), page.kind
    (1, 'dashboard')
    """

    kind: ClassVar[str] = "dashboard"
    by_query: ClassVar[bool] = True
    queries: Mapping[str, tuple[str, tuple[Release, ...]]]

    @classmethod
    def of(cls, queries: Mapping[str, tuple[str, Sequence[Release] | Release]]) -> Dashboard:
        """A dashboard of these queries: for the text of each its dataset and releases.

        >>> from quaestor.accounting.releases import PureDP
        >>> count = "SELECT COUNT(*) FROM visits"
        >>> board = Dashboard.of({count: ("visits", [PureDP(epsilon=0.1)])})
        >>> board.by_digest
        True
        """
        if not isinstance(queries, dict) or not queries:
            raise InvalidParameter("queries", queries, "datasets and releases by text of a query")
        return cls(queries={texts.query_digest(text): each for text, each in queries.items()})

    @property
    def by_digest(self) -> bool:
        """Whether every query is known by a digest; ledgers of earlier versions took any name."""
        return all(map(texts.is_digest, self.queries))

    def __post_init__(self) -> None:
        """Check fingerprints, datasets and releases."""
        if not isinstance(self.queries, dict) or not self.queries:
            raise InvalidParameter("queries", self.queries, "queries by fingerprint")
        known = {}
        for query, declared in self.queries.items():
            if not isinstance(declared, list | tuple) or len(declared) != 2:
                raise InvalidParameter("queries", declared, "a dataset and its list of releases")
            dataset, releases = declared
            known[texts.name("query", query)] = (
                texts.name("dataset", dataset),
                checked_releases(query, releases),
            )
        object.__setattr__(self, "queries", known)

    def to_dict(self) -> dict[str, Any]:
        """The policy as plain JSON values."""
        listed = {
            query: {"dataset": dataset, "releases": [r.to_dict() for r in releases]}
            for query, (dataset, releases) in self.queries.items()
        }
        return {"kind": self.kind, "queries": listed}

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Dashboard:
        """Read back what :meth:`to_dict` wrote."""
        listed = described["queries"].items()
        return cls(
            queries={
                q: (each["dataset"], releases_from_dicts(each["releases"])) for q, each in listed
            }
        )

    @property
    def needs_query_text(self) -> bool:
        """A name could be given to any query."""
        return self.by_digest

    @property
    def nothing_chosen(self) -> bool:
        """Not even the questions, if their texts are fixed."""
        return self.by_digest

    def declared(self) -> Iterator[tuple[str, tuple[Release, ...]]]:
        """The releases of every query."""
        yield from self.queries.values()

    def slots(self) -> Iterator[tuple[str, Slot]]:
        """One slot for each query."""
        for query, (dataset, _) in self.queries.items():
            yield dataset, Slot(query, Fraction(1), f"query {query}")

    def taken(self, request: Request) -> dict[str, Fraction] | None:
        """The query, if it is asked with the releases that were declared for it."""
        declared = self.queries.get(request.query)
        if declared is None or counts_of(declared[1]) != counts_of(request.releases):
            return None
        return {request.query: Fraction(1)}

    def check_new(self, terms: Terms) -> None:
        """Refuse names too: older ledgers took them, and hold such a dashboard to be a plan."""
        if not self.by_digest:
            raise InvalidParameter(
                "queries",
                next(iter(self.queries)),
                (
                    "identified by the digests of their texts, because a name could be given to "
                    "any query later: use Dashboard.of({text: (dataset, releases)})"
                ),
            )
        self.check_again(terms)

    def words(self) -> Iterator[str]:
        """The queries are fixed, by their texts or, in older ledgers, by names alone."""
        yield (
            "The queries themselves were declared by whoever opened the account, each by the "
            "SHA-256 of its text and with its releases, when it was opened and before its first "
            "answer. Nothing else is ever charged, and nothing may be chosen by answers."
            if self.by_digest
            else "The names of the queries and their releases were declared by whoever opened the "
            "account, when it was opened and before its first answer, and nothing else is ever "
            "charged. What a name asks may be chosen by answers, so this is held to be a plan."
        )
