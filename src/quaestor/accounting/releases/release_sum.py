"""Several releases that are made together, written ``a + b``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, overload

from quaestor.accounting.releases.base import Release
from quaestor.errors import InvalidParameter

__all__ = ["ReleaseSum", "check_neighbours", "each_release"]

_WORDS = {
    "add_remove": "a person who comes or goes",
    "replace_record": "a record that is replaced",
}


@dataclass(frozen=True, slots=True)
class ReleaseSum(Sequence[Release]):
    """Several releases about the same people, in the order in which they are written.

    ``+`` means in Python what it means in expressions: the releases are made together. A sum is a
    value as its releases are: hashable, written and read as text and as JSON. ``compose``,
    ``calibrate``, ``largest_count`` and charges of a ledger take it in place of its releases.

    >>> from quaestor import Gaussian, PureDP, compose
    >>> year = PureDP(epsilon=0.5) * 4 + Gaussian(sigma=20.0)
    >>> print(year)
    PureDP(epsilon=0.5) * 4 + Gaussian(sigma=20.0, sensitivity=1.0)
    >>> compose(year).epsilon(delta=1e-6) == compose(*year).epsilon(delta=1e-6)
    True
    >>> ReleaseSum.from_json(year.to_json()) == year
    True
    """

    releases: tuple[Release, ...]

    def __post_init__(self) -> None:
        """Take sums apart; refuse what is no release."""
        object.__setattr__(self, "releases", each_release(self.releases))

    @property
    def counts_people(self) -> bool:
        """Whether one of them does."""
        return any(release.counts_people for release in self.releases)

    def __len__(self) -> int:
        """How many terms it has."""
        return len(self.releases)

    @overload
    def __getitem__(self, place: int) -> Release: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Release, ...]: ...
    def __getitem__(self, place: int | slice) -> Release | tuple[Release, ...]:
        """A term, or several."""
        return self.releases[place]

    def __add__(self, other: Release | ReleaseSum) -> ReleaseSum:
        """All of these, and then the others."""
        if not isinstance(other, Release | ReleaseSum):
            return NotImplemented
        return ReleaseSum((*self.releases, other))  # type: ignore[arg-type]  # taken apart

    def __radd__(self, other: Release) -> ReleaseSum:
        """A release, and then all of these."""
        return ReleaseSum((other, *self.releases)) if isinstance(other, Release) else NotImplemented

    def __mul__(self, count: int) -> ReleaseSum:
        """All of these, ``count`` times: each term as often.

        >>> from quaestor import PureDP
        >>> print(3 * (PureDP(epsilon=0.5) + PureDP(epsilon=0.25) * 2))
        PureDP(epsilon=0.5) * 3 + PureDP(epsilon=0.25) * 6
        """
        return ReleaseSum(tuple(release * count for release in self.releases))

    __rmul__ = __mul__

    def __str__(self) -> str:
        """The expression that the command line takes."""
        return " + ".join(map(str, self.releases))

    def to_dict(self) -> dict[str, Any]:
        """The terms as plain JSON values."""
        terms = [release.to_dict() for release in self.releases]
        return {"type": type(self).__name__, "releases": terms}

    def to_json(self) -> str:
        """The sum as JSON text; :meth:`from_json` reads it back."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back what :meth:`to_json` wrote."""
        from quaestor.accounting.releases.codec import checked_json, release_from_dict

        read = checked_json(text)
        terms = read.get("releases") if isinstance(read, dict) else None
        if not isinstance(terms, list) or read != {"type": cls.__name__, "releases": terms}:
            raise InvalidParameter("releases", text, f"the JSON text of a {cls.__name__}")
        return cls(tuple(map(release_from_dict, terms)))


def each_release(given: Sequence[object]) -> tuple[Release, ...]:
    """Releases, with every sum among them taken apart; anything else is refused."""
    found: list[Release] = []
    for each in given:
        if isinstance(each, Release):
            found.append(each)
        elif isinstance(each, ReleaseSum):
            found += each.releases
        else:
            raise InvalidParameter("release", each, "a release, such as PureDP(epsilon=0.1)")
    return tuple(found)


def check_neighbours(releases: Iterable[Release]) -> str | None:
    """The neighbours that these releases are about; None where that is open.

    Raises:
        InvalidParameter: one is about people who come or go, and another about records that are
            replaced. The sum of two such promises is a promise about neither.
    """
    first: Release | None = None
    for release in releases:
        single = release.counted()[0]
        if single.neighbours is None:
            continue
        if first is None:
            first = single
        elif first.neighbours != single.neighbours:
            raise InvalidParameter(
                "releases",
                f"{first} and {single}",
                f"about the same neighbours: {type(first).__name__} is about "
                f"{_WORDS[str(first.neighbours)]}, {type(single).__name__} about "
                f"{_WORDS[str(single.neighbours)]}. PoissonSampledReplaceOne describes a Poisson "
                "sample under replacement",
            )
    return None if first is None else first.neighbours
