"""dp-accounting in the hands of a user who joins groups in pairs, then pairs of pairs, and so on.

The library does not do so by itself; with many different releases it is much faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.peers.dp_accounting import Distribution, DpAccounting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.peers import Peer

__all__ = ["COARSE", "FINE", "PEER"]


class DpAccountingTree(DpAccounting):
    """The same estimate, joined in another order."""

    def joined(self, parts: Sequence[Distribution]) -> Distribution:
        """Compose different distributions in a balanced tree."""
        if len(parts) == 1:
            return parts[0]
        middle = len(parts) // 2
        return self.joined(parts[:middle]).compose(self.joined(parts[middle:]))


PEER: Peer = DpAccountingTree()
COARSE: Peer = DpAccountingTree(grid=1e-3)
FINE: Peer = DpAccountingTree(grid=1e-5)
