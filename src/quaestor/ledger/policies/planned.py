"""The policy ``planned``: a list of releases is declared, and optimal composition holds."""

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
    from collections.abc import Iterator, Mapping

    from quaestor.accounting.releases import Release
    from quaestor.ledger.price import Request

__all__ = ["Planned"]


@register
@dataclass(frozen=True, slots=True, kw_only=True)
class Planned(Declared):
    """A list of releases is fixed in advance, for each dataset; optimal composition holds.

    Analysts may choose the questions, and their order, by earlier answers; every charge takes
    slots of the plan, in any order.

    >>> from quaestor import PureDP
    >>> Planned(releases={"visits": (PureDP(epsilon=0.25) * 4,)}).kind
    'planned'
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

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Planned:
        """Read back what :meth:`to_dict` wrote."""
        listed = described["releases"].items()
        return cls(releases={d: releases_from_dicts(releases) for d, releases in listed})

    def declared(self) -> Iterator[tuple[str, tuple[Release, ...]]]:
        """The lists of releases."""
        yield from self.releases.items()

    def slots(self) -> Iterator[tuple[str, Slot]]:
        """One kind of slot for each different release."""
        for dataset, releases in self.releases.items():
            for release, count in counts_of(releases).items():
                yield dataset, Slot(release.to_json(), Fraction(count), f"slots of {release}")

    def taken(self, request: Request) -> dict[str, Fraction]:
        """One for each release."""
        counts = counts_of(request.releases)
        return {release.to_json(): Fraction(count) for release, count in counts.items()}

    def words(self) -> Iterator[str]:
        """The releases are fixed; questions are not."""
        yield (
            "The list of releases was declared by whoever opened the account, when it was opened "
            "and before its first answer, and nothing else is ever charged. Analysts may choose "
            "the questions and their order by all answers so far, but not the noise."
        )
