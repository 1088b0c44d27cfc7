"""dp-accounting in the hands of a user who wants tighter numbers: a tree, on a finer grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.peers.dp_accounting_tree import DpAccountingTree

if TYPE_CHECKING:
    from benchmarks.peers import Peer

__all__ = ["PEER"]

PEER: Peer = DpAccountingTree(grid=1e-5)
