"""What is charged for a measurement: every draw, for every cell that a unit may be in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting import releases
from quaestor.curator.kernel.draws import NoisyMeasure
from quaestor.curator.kernel.measures import JointTotals, RowCount, Units
from quaestor.mechanisms import Geometric
from tests.curator.kernel.pointed import PEOPLE, declared, measured, total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.accounting.releases import Release

__all__ = ["wrongs"]


def _count(release: Release) -> int:
    return release.count if isinstance(release, releases.Repeated) else 1


def _wrongs() -> Iterator[str]:
    keys = (declared("c0", "text", "a", "A", "á", None),)
    for groups in (1, 2, 3, 9):
        made = measured(
            PEOPLE,
            Units(),
            RowCount(rows=1),
            total("g", 0, 1),
            total("n", -1, 0),
            keys=keys,
            groups=groups,
        )
        spread = min(groups, 4)
        if made.spread != spread:
            yield f"a unit is in {spread} of the cells, and not in {made.spread}"
        if sum(map(_count, made.releases)) != 4 * spread:
            yield f"four draws for {spread} cells cost {made.releases}"
    many = measured(PEOPLE, total("g", 0, 2**20, rows=3))
    (draw,) = many.draws
    if many.releases != (draw.one * draw.count,) or draw.count != 1:
        yield "a draw costs something else than it says"
    both = JointTotals(totals=(total("g", 0, 5), total("n", 0, 9)), bound=9)
    for as_one in (False, True):
        noise = Geometric(scale=3.0, sensitivity=9)
        joint = NoisyMeasure(measure=both, mechanism=noise, spread=2, as_one=as_one)
        if joint.one.known_epsilon() != 3 or joint.epsilon != 6 or joint.count != 2:
            yield f"totals that move by 3 scales together cost {joint.one}, {joint.count} times"


def wrongs() -> list[str]:
    """What is charged wrongly."""
    return list(_wrongs())
