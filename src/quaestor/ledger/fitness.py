"""Which releases an account can speak about: those whose own promise is about its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.releases import GraphSketch, Repeated, SampledWithoutReplacement
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.releases import Release

__all__ = ["misfit", "refuse_misfits", "refuse_mixed_directions"]


def misfit(releases: Iterable[Release]) -> Release | None:
    """The first release whose promise is about other neighbours than any account compares.

    ``SampledWithoutReplacement`` is about a record that is replaced while the population stays as
    large as it is. Every account also compares worlds in which somebody is absent.
    """
    return next(
        (r for r in map(_single, releases) if isinstance(r, SampledWithoutReplacement)), None
    )


def refuse_misfits(field: str, releases: Iterable[Release]) -> None:
    """Refuse what no account can speak about.

    Raises:
        InvalidParameter: with what to use instead.
    """
    found = misfit(releases)
    if found is not None:
        raise InvalidParameter(
            field,
            str(found),
            "releases about a person who is added or removed; SampledWithoutReplacement is about "
            "one who is replaced in a population of fixed size, and no account compares only "
            "that. Sample with PoissonSampled(release=..., rate=...), or charge the release "
            "without its sampling",
        )


def refuse_mixed_directions(releases: Iterable[Release]) -> None:
    """Refuse a plan in which a graph sketch stands beside other releases with a direction.

    An edge's weight may rise in one sketch and fall in another, and nothing in a description says
    which. Composition needs one world that is the heavier one in all of them. A filter does not:
    it counts each release in its worse direction.

    Raises:
        InvalidParameter: with what to do instead.
    """
    listed = list(releases)
    directed = sum(
        release.count if isinstance(release, Repeated) else 1
        for release in listed
        if _single(release).directed
    )
    sketch = next((r for r in map(_single, listed) if isinstance(r, GraphSketch)), None)
    if sketch is not None and directed > 1:
        raise InvalidParameter(
            "policy",
            str(sketch),
            "alone among releases with a direction (sketches, sampled ones, pairs of one's own): "
            "a plan composes them only if the same world is the heavier one in all, and that "
            "cannot be checked here. Open an account with the policy open, whose filter counts "
            "each release in its worse direction",
        )


def _single(release: Release) -> Release:
    return release.release if isinstance(release, Repeated) else release
