"""Tariffs: what an account counts, and how large a share of it releases take.

A tariff is of the account's definition alone: neither of what was charged, nor of any data.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.ledger.theory import cost

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.filters import Filter, Meter
    from quaestor.accounting.releases import Release
    from quaestor.ledger import AccountDefinition

__all__ = ["Tariff", "tariff_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """An account's delta, the filters that its charges must pass, and which worlds they compare.

    Without filters (plans, dashboards) releases have to be what was declared, and nothing is known
    of shares.
    """

    delta: float
    filters: tuple[Filter, ...] = ()
    neighbours: str = "add_remove"

    def share(self, releases: Sequence[Release]) -> Fraction | None:
        """How much of the account they take, in its tightest filter; None if they never fit.

        In each filter it is that of the meter with which they fit most often.
        """
        shares = [self._share(each, releases) for each in self.filters]
        if not shares or None in shares:
            return None
        return max(each for each in shares if each is not None)

    def within(self, releases: Sequence[Release], *, epsilon: Fraction) -> Fraction | None:
        """How their share compares to an epsilon's in the sum of epsilons; None if they never fit.

        At most 1 if, of every filter, they take no larger a part than the epsilon is of its own.
        """
        ratios = []
        for each in self.filters:
            share = self._share(each, releases)
            if share is None:
                return None
            ratios.append(share * Fraction(each.epsilon) / epsilon)
        return max(ratios, default=None)

    def _share(self, of: Filter, releases: Sequence[Release]) -> Fraction | None:
        must = [self._part(meter, releases) for meter in of.every]
        if None in must:
            return None
        may = [part for meter in of.some if (part := self._part(meter, releases)) is not None]
        if of.some and not may:
            return None
        parts = [*(part for part in must if part is not None), *([min(may)] if may else [])]
        return max(parts, default=Fraction(0))

    def _part(self, meter: Meter, releases: Iterable[Release]) -> Fraction | None:
        used = cost(meter, releases, neighbours=self.neighbours)
        if used is None or used == 0:
            return used
        return used / meter.limit if meter.limit > 0 else None


def tariff_of(account: AccountDefinition) -> Tariff:
    """What an account counts: its own filter, and those of all its quotas."""
    own = account.policy.limit(account).filter if account.policy.chosen_freely else None
    if own is None:
        return Tariff(delta=account.delta)
    held = [each.filter for each in account.shares] + [each.filter for each in account.groups]
    quotas = [each for each in held if each is not None]
    return Tariff(
        delta=account.delta,
        filters=tuple(dict.fromkeys((own, *quotas))),
        neighbours=account.neighbours,
    )
