"""Descriptions of releases, one kind a file, and the registry that knows them all."""

from __future__ import annotations

from quaestor.accounting.releases.base import Release, Repeated
from quaestor.accounting.releases.black_box import ApproxDP, PureDP

__all__ = ["RELEASES", "ApproxDP", "PureDP", "Release", "Repeated"]

# Every kind that expressions and JSON may name. A new mechanism adds one line here.
RELEASES: dict[str, type[Release]] = {
    "PureDP": PureDP,
    "ApproxDP": ApproxDP,
    "Repeated": Repeated,
}
