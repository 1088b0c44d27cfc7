"""Where the ledger meets the theory of filters: the only module that knows how they are made."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.accounting.across import heaviest as across
from quaestor.accounting.across.replacement import with_record_replaced
from quaestor.accounting.filters import (
    Odometer,
    best_filter,
    filter_from_dict,
    fitting_version,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from quaestor.accounting.across.facts import Fact
    from quaestor.accounting.filters import Meter
    from quaestor.accounting.releases import Release

__all__ = [
    "PRICING",
    "best_filter",
    "cost",
    "filter_from_dict",
    "fitting_version",
    "heaviest",
    "odometer",
    "with_record_replaced",
]

PRICING = 1
"""The version of what releases cost; where it differs from the stored one, history is priced again.

Raise it whenever a meter's cost of any release, or the order of a filter's meters, changes.
"""


def cost(meter: Meter, releases: Iterable[Release], *, neighbours: str) -> Fraction | None:
    """What releases use of a meter where worlds differ in one way; None if no amount would do.

    A record that is replaced inside a dataset changes it twice. The costs of both changes
    together are counted, and never less than twice that of one, as :func:`heaviest` needs it.
    """
    listed = tuple(releases)
    once = meter.cost(listed)
    if neighbours != "replace_record" or once is None:
        return once
    twice = meter.cost(map(with_record_replaced, listed))
    return None if twice is None else max(twice, 2 * once)


def heaviest(
    weights: Mapping[str, Fraction], *, membership: Fact | None, neighbours: str
) -> Fraction:
    """The most that two compared worlds can differ by: the sum of weights where they differ.

    With the weights of two changes, a replaced record asks the same question as an added person:
    see :mod:`quaestor.accounting.across.heaviest`.
    """
    if membership is None:
        return sum(weights.values(), Fraction(0))
    compared = "replace" if neighbours == "replace" else "add_remove"
    return across.heaviest(weights, membership=membership, neighbours=compared)


def odometer(*, delta: float) -> Odometer:
    """The odometer whose readings hold together with probability 1 - ``delta``.

    Half of delta is kept for the releases' own deltas, whether there are any or not: which half
    is used must not depend on what was asked.
    """
    return Odometer(delta=delta / 2, reserved=delta / 2)
