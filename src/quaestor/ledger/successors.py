r"""Successors: closing an account and opening another one on the same people resets nothing.

An account may name a closed account that it succeeds. What people lose then is what all accounts of
that line allow together, and the successor says how much that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from quaestor.accounting.compose import compose
from quaestor.accounting.releases import ApproxDP
from quaestor.accounting.releases.base import check_real
from quaestor.errors import InvalidParameter, LedgerCorrupted, UnknownAccount
from quaestor.ledger.amounts import above
from quaestor.ledger.definition import AccountDefinition
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.ledger.store.base import Session

__all__ = ["Together", "check_predecessor", "is_closed", "predecessors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    r"""What an account and all that it succeeds lose together, at most.

    Every account is one interactive mechanism that is :math:`(\varepsilon_i, \delta_i)`-DP as a
    whole, whatever is asked of it, also with questions to the other accounts in between. Nothing
    else about it is used: what was charged to an account does not matter.

    Theorem:
        Interactive mechanisms that are :math:`(\varepsilon_i, \delta_i)`-DP are post-processings of
        interactive randomized responses, so that their concurrent composition is as private as the
        composition of non-interactive ones [Lyu, "Composition Theorems for Interactive Differential
        Privacy", NeurIPS 2022; Vadhan, Zhang, "Concurrent Composition Theorems for
        Differential Privacy", STOC 2023]. That is optimal composition of black boxes [Murtagh,
        Vadhan, Theorem 1.5], never more than the sums of the epsilons and of the deltas.
        An account with blocks of time is no such mechanism: its size is that of one block.
        It assumes that the sizes of the accounts were not chosen by what another had answered, and
        that all accounts compare the same worlds.

    >>> both = Together(
    ...     accounts=("2025", "2026"), sizes=((1.0, 0.0), (0.5, 0.0)), epsilon=1.5, delta=0.0
    ... )
    >>> both.epsilon
    1.5
    """

    accounts: tuple[str, ...]
    """The account, the one that it succeeds, and so on."""
    sizes: tuple[tuple[float, float], ...]
    """The epsilon and the delta of each."""
    epsilon: float | None
    """At :attr:`delta`; None if one of the accounts has promised too much."""
    delta: float
    """The sum of the deltas, rounded up."""

    @classmethod
    def of(cls, line: tuple[tuple[str, float, float], ...], *, sound: bool = True) -> Together:
        """Of accounts by name, epsilon and delta; ``sound`` if all of them keep their promise."""
        sizes = tuple((epsilon, delta) for _, epsilon, delta in line)
        delta = min(1.0, above(sum((Fraction(each) for _, each in sizes), Fraction(0))))
        return cls(
            accounts=tuple(name for name, *_ in line),
            sizes=sizes,
            epsilon=_least_epsilon(sizes, delta) if sound else None,
            delta=delta,
        )

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon that is known to be true at another delta; infinite if none is."""
        return _least_epsilon(self.sizes, check_real("delta", delta, low=0.0, high=1.0))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"accounts": list(self.accounts), "epsilon": self.epsilon, "delta": self.delta}


@lru_cache(maxsize=256)
def _least_epsilon(sizes: tuple[tuple[float, float], ...], delta: float) -> float:
    boxes = (ApproxDP(epsilon=epsilon, delta=each) for epsilon, each in sizes)
    optimal = compose(*boxes).epsilon(delta=delta)
    deltas = sum((Fraction(each) for _, each in sizes), Fraction(0))
    if deltas > Fraction(delta):
        return optimal
    return min(optimal, above(sum((Fraction(epsilon) for epsilon, _ in sizes), Fraction(0))))


def predecessors(session: Session, definition: AccountDefinition) -> Iterator[AccountDefinition]:
    """The account that it succeeds, the one that this succeeds, and so on."""
    seen, last = {definition.name}, definition
    while last.succeeds is not None:
        row = session.row(sql.DEFINITION, name=last.succeeds)
        if row is None or last.succeeds in seen:
            problem = f"the account {last.succeeds!r} that it succeeds is missing"
            raise LedgerCorrupted(f"account {last.name!r}", problem)
        last = AccountDefinition.from_json(row[0])
        seen.add(last.name)
        yield last


def is_closed(session: Session, definition: AccountDefinition, *, time: str) -> bool:
    """Whether an account is closed, or its closing date has come."""
    state = session.row(sql.STATE, account=definition.name)
    dated = definition.closes is not None and time >= definition.closes
    return dated or (state is not None and bool(state[4]))


def check_predecessor(session: Session, definition: AccountDefinition, *, time: str) -> None:
    """See that an account can succeed the one that it names.

    Raises:
        UnknownAccount: there is no such account.
        InvalidParameter: it is not closed, is about other people, compares other worlds, or has
            a budget for each block of time, so that its size is not what it loses as a whole.
    """
    if definition.succeeds is None:
        return
    row = session.row(sql.DEFINITION, name=definition.succeeds)
    if row is None:
        raise UnknownAccount(definition.succeeds, near=None)
    old = AccountDefinition.from_json(row[0])
    if not is_closed(session, old, time=time):
        valid = "an account that is closed: close it first (quaestor account close)"
        raise InvalidParameter("succeeds", old.name, valid)
    if not set(old.datasets) & set(definition.datasets):
        valid = "an account on the same datasets, or on some of them"
        raise InvalidParameter("succeeds", old.name, valid)
    if old.policy.by_blocks or definition.policy.by_blocks:
        valid = (
            "an account without blocks of time: with blocks, epsilon is per block. An "
            "account with blocks takes a past as its predecessor, or opens beside it"
        )
        raise InvalidParameter("succeeds", old.name, valid)
    if old.neighbours != definition.neighbours:
        valid = (
            f"an account with the same neighbours, not {old.neighbours}: the two "
            "guarantees cannot be added"
        )
        raise InvalidParameter("succeeds", old.name, valid)
