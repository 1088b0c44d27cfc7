"""Who is measured: one library a file, imported only where it is measured."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from benchmarks.mechanisms import DiscreteGaussian, Exponential, Geometric, SampledLaplace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.case import Case, Group

__all__ = ["NOBODY", "OURS", "Answer", "Peer", "load", "rivals"]

OURS = "quaestor"
NOBODY = "-"

_MANY = 100  # different groups, beyond which a peer that joins one after another is hopeless
_PRV = ("prv_accountant.FINE", "prv_accountant.COARSE")
_PRV_LACKS = DiscreteGaussian | Geometric | SampledLaplace | Exponential


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a library says; ``lower`` only where it claims one."""

    upper: float
    lower: float | None = None


class Peer(Protocol):
    """A library that can compose. Every call starts from nothing."""

    def epsilon(self, groups: Sequence[Group], *, delta: float) -> Answer:
        """The epsilon that the library reports at ``delta``."""

    def delta(self, groups: Sequence[Group], *, epsilon: float) -> Answer:
        """The delta that the library reports at ``epsilon``."""


def load(name: str) -> Peer:
    """Import the adapter ``name``, and with it the library behind it: ``file`` or ``file.NAME``."""
    module, _, variant = name.partition(".")
    return cast("Peer", getattr(import_module(f"benchmarks.peers.{module}"), variant or "PEER"))


def rivals(case: Case) -> tuple[str, ...]:
    """The adapters that ``case`` is put to beside ours.

    How partial results are joined, and how finely they are rounded, matters where there are many.
    prv-accountant raises on black boxes that differ, so it is not asked about them.
    """
    if case.growing:
        return ()
    if case.only_black_boxes and case.epsilon is not None:
        if len(case.groups) > 2:
            return ("dp_accounting", "dp_accounting_tree", "dp_accounting_tree.FINE")
        return ("dp_accounting",)
    if len(case.groups) > _MANY:
        tree = ("dp_accounting_tree", "dp_accounting_tree.COARSE", "dp_accounting_tree.FINE")
        return tree if case.only_black_boxes else (*tree, "prv_accountant.COARSE")
    lacking = any(isinstance(group.mechanism, _PRV_LACKS) for group in case.groups)
    return ("dp_accounting_tree", "dp_accounting_tree.COARSE", *(() if lacking else _PRV))
