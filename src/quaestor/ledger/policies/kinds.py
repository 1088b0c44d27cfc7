"""What an account promises to keep to: a plan, a dashboard, or a filter for everything else.

The policy decides which theorem is sound. The optimal theorems are asked once, about what is
declared, before the account opens; from then on only slots are counted. A filter is fixed before
the first charge, and from then on only its meters are read. There is no way from what was really
charged back into an optimal theorem.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.accounting.filters.base import Filter
from quaestor.accounting.releases import Release, Repeated
from quaestor.accounting.releases.codec import release_from_dict
from quaestor.errors import InvalidParameter
from quaestor.ledger import stored_text as texts
from quaestor.ledger.theory import filter_from_dict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "Dashboard",
    "Open",
    "Planned",
    "Policy",
    "checked_releases",
    "counted",
    "policy_from_dict",
]


def checked_releases(field_name: str, value: object) -> tuple[Release, ...]:
    """A list of releases, or a single one, as a tuple; or an error that says what is wrong."""
    listed = (value,) if isinstance(value, Release) else value
    if not isinstance(listed, list | tuple) or not listed:
        raise InvalidParameter(field_name, value, "a list of at least one release")
    for release in listed:
        if not isinstance(release, Release):
            raise InvalidParameter(
                field_name, release, "made of releases, such as PureDP(epsilon=1)"
            )
    return tuple(listed)


def counted(releases: Iterable[Release]) -> Counter[Release]:
    """How often each release occurs, whatever way the list is written."""
    counts: Counter[Release] = Counter()
    for release in releases:
        if isinstance(release, Repeated):
            counts[release.release] += release.count
        else:
            counts[release] += 1
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A list of releases is fixed in advance, for each dataset; optimal composition holds.

    Analysts may choose the questions, and their order, by earlier answers; every charge takes
    slots of the plan, in any order.
    """

    kind: ClassVar[str] = "planned"
    releases: Mapping[str, tuple[Release, ...]]

    def __post_init__(self) -> None:
        """Check the datasets' names and lists."""
        if not isinstance(self.releases, dict) or not self.releases:
            raise InvalidParameter("releases", self.releases, "lists of releases by dataset")
        known = {
            texts.name("dataset", dataset): checked_releases(dataset, listed)
            for dataset, listed in self.releases.items()
        }
        object.__setattr__(self, "releases", known)

    def to_dict(self) -> dict[str, Any]:
        """The policy as plain JSON values."""
        listed = {d: [r.to_dict() for r in releases] for d, releases in self.releases.items()}
        return {"kind": self.kind, "releases": listed}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """The queries themselves are fixed in advance: for each digest its dataset and releases.

    Nothing depends on answers, and non-adaptive composition holds. Each query is answered once;
    its stored answer may be read again and again. A query is known by the SHA-256 of its text,
    and a charge presents that text: a name could be given to any query, after other answers.
    :meth:`of` takes the texts themselves.
    """

    kind: ClassVar[str] = "dashboard"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Analysts choose everything as they go; a filter, fixed in advance, says when to stop.

    Without a ``filter`` the account takes the one that lets the most of ``expected`` through.
    """

    kind: ClassVar[str] = "open"
    filter: Filter | None = None
    expected: tuple[Release, ...] = field(default=())

    def __post_init__(self) -> None:
        """Check that they are what they should be."""
        if self.filter is not None and not isinstance(self.filter, Filter):
            raise InvalidParameter("filter", self.filter, "a filter of quaestor.accounting.filters")
        if self.expected:
            object.__setattr__(self, "expected", checked_releases("expected", self.expected))
        else:
            object.__setattr__(self, "expected", ())

    def to_dict(self) -> dict[str, Any]:
        """The policy as plain JSON values."""
        return {
            "kind": self.kind,
            "filter": None if self.filter is None else self.filter.to_dict(),
            "expected": [release.to_dict() for release in self.expected],
        }


Policy = Planned | Dashboard | Open


def policy_from_dict(described: Mapping[str, Any]) -> Policy:
    """Read back what ``to_dict`` wrote."""
    match described["kind"]:
        case "planned":
            return Planned(
                releases={d: _releases(listed) for d, listed in described["releases"].items()}
            )
        case "dashboard":
            return Dashboard(
                queries={
                    query: (entry["dataset"], _releases(entry["releases"]))
                    for query, entry in described["queries"].items()
                }
            )
        case "open":
            chosen = described["filter"]
            return Open(
                filter=None if chosen is None else filter_from_dict(chosen),
                expected=_releases(described["expected"]),
            )
        case other:
            raise InvalidParameter("policy", other, "planned, dashboard or open")


def _releases(listed: Iterable[Any]) -> tuple[Release, ...]:
    return tuple(map(release_from_dict, listed))
