"""Who is measured: one adapter a file, each with a ``PEER``; imported only where it is measured."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.cases import Case, Group

__all__ = ["OURS", "Answer", "Peer", "load", "rivals"]

OURS = "quaestor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a library says; ``lower`` only where it certifies one."""

    upper: float
    lower: float | None = None


class Peer(Protocol):
    """A library that can compose black boxes. Every call starts from nothing."""

    def epsilon(self, groups: Sequence[Group], *, delta: float) -> Answer:
        """The epsilon that the library reports at ``delta``."""

    def delta(self, groups: Sequence[Group], *, epsilon: float) -> Answer:
        """The delta that the library reports at ``epsilon``."""


def load(name: str) -> Peer:
    """Import the adapter ``name``, and with it the library behind it."""
    return cast("Peer", import_module(f"benchmarks.peers.{name}").PEER)


def rivals(case: Case) -> tuple[str, ...]:
    """The adapters that ``case`` is put to beside ours.

    How partial results are joined, and how finely they are rounded, matters where there are many.
    """
    if len(case.groups) > 2:
        return ("dp_accounting", "dp_accounting_tree", "dp_accounting_fine")
    return ("dp_accounting",)
