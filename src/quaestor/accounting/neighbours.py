"""Releases that are counted together must be about the same neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.releases.base import Release

__all__ = ["check_neighbours"]

_WORDS = {
    "add_remove": "a person who comes or goes",
    "replace_record": "a record that is replaced",
}


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
