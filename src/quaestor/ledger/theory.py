"""Where the ledger meets the theory: what releases cost, and which ones accounts speak about."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.accounting.filters import (
    Odometer,
    best_filter,
    filter_from_dict,
    fitting_version,
)
from quaestor.accounting.filters.base import DeltaMeter, EpsilonMeter
from quaestor.accounting.filters.moments import MomentMeter
from quaestor.accounting.membership import heaviest as across
from quaestor.accounting.releases import GraphSketch, counts_of
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from quaestor.accounting.filters import Meter
    from quaestor.accounting.membership.facts import Fact
    from quaestor.accounting.releases import Release

__all__ = [
    "PRICING",
    "best_filter",
    "cost",
    "filter_from_dict",
    "fitting_version",
    "heaviest",
    "misfit",
    "odometer",
    "realised_cost",
    "refuse_misfits",
    "refuse_mixed_directions",
]

PRICING = 3
"""The version of what releases cost; where it differs from the stored one, history is priced again.

Raise it whenever a meter's cost of any release, or the order of a filter's meters, changes; and
with every new edition of what is charged for questions (:mod:`quaestor.curator.pricing.editions`).
An account keeps the version it was opened under, and no older version can charge it from then on.
"""


def cost(meter: Meter, releases: Iterable[Release], *, neighbours: str) -> Fraction | None:
    """What releases use of a meter where worlds differ in one way; None if no amount would do.

    A record that is replaced inside a dataset changes it twice. The costs of both changes
    together are counted, and never less than twice that of one, as :func:`heaviest` needs it.
    Of a release whose own promise is about other neighbours no amount would do.
    """
    listed = tuple(releases)
    if misfit(listed) is not None:
        return None
    once = meter.cost(listed)
    if neighbours != "replace_record" or once is None:
        return once
    twice = meter.cost(release.with_record_replaced() for release in listed)
    return None if twice is None else max(twice, 2 * once)


def realised_cost(meter: Meter, releases: Iterable[Release], *, neighbours: str) -> Fraction | None:
    r"""What a *realised* list uses of a meter that may have been chosen after it: the basic sum.

    Theorem:
        Let a history have been released elsewhere, adaptively, and the account's filter be fixed
        at any time, by its answers too. On each transcript the history's loss is at most
        :math:`E = \sum\varepsilon_i`, except where something was told outright, which costs its
        deltas. So for the rest, given the history,

        .. math:: E[(1 - e^{\varepsilon-L})_+] \le E[(1 - e^{(\varepsilon-E)-L_{rest}})_+]
                  \le \frac{\lambda^\lambda}{(1+\lambda)^{1+\lambda}}
                  e^{\sum h_i(\lambda) + \lambda E - \lambda\varepsilon},

        whatever the order is: a history costs E on the sum of epsilons, its deltas on the sum of
        deltas, and :math:`\lambda E` on log-moments of order :math:`\lambda`. Other meters have
        limits that are no such sums, and say nothing after it.
    """
    if isinstance(meter, EpsilonMeter | DeltaMeter):
        return cost(meter, releases, neighbours=neighbours)
    if not isinstance(meter, MomentMeter):
        return None
    epsilon = cost(EpsilonMeter(limit=Fraction(0)), releases, neighbours=neighbours)
    return None if epsilon is None else Fraction(meter.order) * epsilon


def heaviest(
    weights: Mapping[str, Fraction], *, membership: Fact | None, neighbours: str
) -> Fraction:
    """The most that two compared worlds can differ by: the sum of weights where they differ.

    With the weights of two changes, a replaced record asks the same question as an added person:
    see :mod:`quaestor.accounting.membership.heaviest`.
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


def misfit(releases: Iterable[Release]) -> Release | None:
    """The first release whose promise is about other neighbours than any account compares.

    ``SampledWithoutReplacement`` and ``PoissonSampledReplaceOne`` are about a record that is
    replaced while the population stays as large as it is. Every account also compares worlds in
    which somebody is absent.
    """
    return next(
        (r for r in (each.counted()[0] for each in releases) if r.neighbours == "replace_record"),
        None,
    )


def refuse_misfits(field: str, releases: Iterable[Release]) -> None:
    """Refuse what no account can speak about.

    Raises:
        InvalidParameter: with what to use instead.
    """
    found = misfit(releases)
    if found is not None:
        raise InvalidParameter(
            field,
            str(found),
            f"about adding or removing a person; {type(found).__name__} is for replacing one in a "
            "population of fixed size, which no account supports. Use PoissonSampled(release=..., "
            "rate=...), or charge the release without sampling",
        )


def refuse_mixed_directions(releases: Iterable[Release]) -> None:
    """Refuse a plan in which a graph sketch stands beside other releases with a direction.

    An edge's weight may rise in one sketch and fall in another, and nothing in a description says
    which. Composition needs one world that is the heavier one in all of them. A filter does not:
    it counts each release in its worse direction.

    Raises:
        InvalidParameter: with what to do instead.
    """
    listed = list(releases)
    directed = sum(count for single, count in counts_of(listed).items() if single.directed)
    sketch = next(
        (r for r in (each.counted()[0] for each in listed) if isinstance(r, GraphSketch)), None
    )
    if sketch is not None and directed > 1:
        raise InvalidParameter(
            "policy",
            str(sketch),
            (
                "the only release that differs between adding and removing a person "
                "(sketches, sampled releases, own pairs): Quaestor cannot compose several of "
                "them in a plan. Open an account with policy open, whose filter counts each "
                "release in its worse direction"
            ),
        )
