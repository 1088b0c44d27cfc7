"""An account's odometer the slow, obvious way: every meter of every charge, one by one."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.accounting.filters import Odometer
from quaestor.ledger.theory import cost, heaviest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.filters import Meter
    from quaestor.ledger import AccountDefinition
    from quaestor.ledger.price import Request

__all__ = ["slow_odometer"]


def slow_odometer(
    definition: AccountDefinition, charged: Iterable[tuple[Request, int]], *, delta: float
) -> float:
    """The epsilon that all sixteen orders say together, none left out."""
    odometer = Odometer(delta=delta / 2, reserved=delta / 2)
    listed = list(charged)

    def total(meter: Meter) -> Fraction | None:
        weights = dict.fromkeys(definition.datasets, Fraction(0))
        for request, count in listed:
            used = cost(meter, request.releases, neighbours=definition.neighbours)
            if used is None:
                return None
            weights[request.dataset] += used * count
        return heaviest(weights, membership=definition.membership, neighbours=definition.neighbours)

    return odometer.reading({meter: total(meter) for meter in odometer.meters}).epsilon
