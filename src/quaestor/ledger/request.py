"""What is asked of an account: releases of a dataset, for an analyst, with a purpose."""

from __future__ import annotations

from dataclasses import dataclass

from quaestor.accounting.releases import Release
from quaestor.errors import InvalidParameter

__all__ = ["Request", "checked_releases"]


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


def checked_releases(field: str, value: object) -> tuple[Release, ...]:
    """A list of releases, or a single one, as a tuple; or an error that says what is wrong."""
    listed = (value,) if isinstance(value, Release) else value
    if not isinstance(listed, list | tuple) or not listed:
        raise InvalidParameter(field, value, "a list of at least one release")
    for release in listed:
        if not isinstance(release, Release):
            raise InvalidParameter(field, release, "made of releases, such as PureDP(epsilon=1)")
    return tuple(listed)
