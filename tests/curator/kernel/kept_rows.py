"""Groups that the engine keeps, beside those that all come to the curator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quaestor.curator.kernel.figures import Exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quaestor.curator.kernel.figures import KeptGroups, Prepared

__all__ = ["differences", "every_row"]


def every_row(kept: KeptGroups) -> NDArray[np.int64]:
    """The numbers of all rows."""
    runs = zip(kept.runs.first.tolist(), kept.runs.count.tolist(), strict=True)
    return np.array([first + at for first, count in runs for at in range(count)], np.int64)


def differences(prepared: Prepared, exact: Exact) -> list[str]:
    """Whether all rows that are kept, fetched, are the groups with their figures that come."""
    if exact.groups is None:
        return []
    kept = prepared.measured()
    if isinstance(kept, Exact):
        return []
    try:
        found, at = kept._fetched(every_row(kept))
    finally:
        kept.close()
    wrong = []
    if found.groups != exact.groups or found.units != exact.units:
        wrong.append("other groups are kept than come")
    if found.values != exact.values:
        wrong.append("other figures are kept than come")
    counted = np.repeat(kept.runs.units, kept.runs.count).tolist()
    if counted != [found.units[place] for place in at.tolist()]:
        wrong.append("it is drawn for other numbers of units than the groups have")
    return wrong
