"""What an account has lost so far: a reading that is valid at every time."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.ledger.theory import cost, heaviest, odometer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.filters.meter import Meter
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.request import Request

__all__ = ["OdometerReading", "read_odometer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OdometerReading:
    """With probability 1 - ``delta`` nothing that was ever charged has lost more than ``epsilon``.

    ``epsilon`` is infinite where some release is known in no way that an odometer can add up.
    """

    epsilon: float
    delta: float


def read_odometer(
    definition: AccountDefinition, charged: Iterable[tuple[Request, int]], *, delta: float
) -> OdometerReading:
    """Read what these charges, each with how often it was made, have lost together."""
    chosen, neighbours = odometer(delta=delta), definition.neighbours
    by_dataset: dict[str, dict[Meter, Fraction | None]] = {
        dataset: dict.fromkeys(chosen.meters, Fraction(0)) for dataset in definition.datasets
    }
    for request, count in charged:
        totals = by_dataset[request.dataset]
        for meter in chosen.meters:
            before, used = totals[meter], cost(meter, request.releases, neighbours=neighbours)
            totals[meter] = None if before is None or used is None else before + count * used
    across = {
        meter: _across(definition, {name: totals[meter] for name, totals in by_dataset.items()})
        for meter in chosen.meters
    }
    reading = chosen.reading(across)
    return OdometerReading(epsilon=reading.epsilon, delta=reading.delta)


def _across(definition: AccountDefinition, weights: dict[str, Fraction | None]) -> Fraction | None:
    known = {name: weight for name, weight in weights.items() if weight is not None}
    if len(known) < len(weights):
        return None
    return heaviest(known, membership=definition.membership, neighbours=definition.neighbours)
