"""What stands against charges: limits, each on exact totals that never drift.

An account is a list of limits; a charge fits if it fits every one of them. A limit of a filter
reads the filter's meters; a limit of slots counts what of a plan is taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quaestor.accounting.filters.base import Filter
    from quaestor.ledger.price import Balance, Reading
    from quaestor.ledger.request import Request
    from quaestor.ledger.totals.amounts import Totals

__all__ = ["Limit"]


class Limit(ABC):
    """One limit of an account: its own, or an analyst's quota.

    ``spent`` is what was used of its meters so far, by dataset; a limit itself remembers nothing.
    """

    __slots__ = ()

    filter: Filter | None = None
    """The filter whose meters it reads; None where it counts something else."""

    @abstractmethod
    def costs(self, request: Request) -> Totals:
        """What the request uses, by meter."""

    @abstractmethod
    def after(self, spent: Mapping[str, Totals], request: Request) -> Totals | None:
        """The totals of the request's dataset with it added; None if it does not fit."""

    @abstractmethod
    def readings(self, spent: Mapping[str, Totals], request: Request) -> tuple[Reading, ...]:
        """What each meter says about the request."""

    @abstractmethod
    def short(self, readings: tuple[Reading, ...]) -> Reading | None:
        """The meter that is in the way, if any."""

    @abstractmethod
    def times(self, spent: Mapping[str, Totals], request: Request) -> int:
        """How many times the request would fit, one after another."""

    @abstractmethod
    def holds(self, spent: Mapping[str, Totals]) -> bool:
        """Whether what was spent is within the limit."""

    @abstractmethod
    def excess(self, spent: Mapping[str, Totals]) -> str:
        """What was spent beyond the limit, in words; only where it does not hold."""

    @abstractmethod
    def balances(self, spent: Mapping[str, Totals], dataset: str) -> tuple[Balance, ...]:
        """How every meter stands on one dataset."""
