"""A filter in words: what is promised, to whom, what may be chosen, and how delta is divided."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.accounting.filters.base import EpsilonMeter, slack_of
from quaestor.accounting.filters.moments import MomentMeter
from quaestor.accounting.numerics.digits import TO_TYPE, rounded_down

if TYPE_CHECKING:
    from quaestor.accounting.filters.base import Filter, Meter

__all__ = ["words_of"]

_SHORT = 9  # signs: numbers that people gave


def words_of(filter_: Filter) -> str:
    """The whole promise in a few sentences.

    >>> from quaestor.accounting.filters import basic_filter
    >>> print(words_of(basic_filter(epsilon=1.0, delta=1e-6)))
    All answers together are (1.0, 1e-06)-differentially private for every person in the data, \
even if all analysts put what they see together. \
They may choose each release, its noise and the moment to stop by all answers so far. \
An answer is given only while these limits hold: \
the sum of the epsilons is at most 1.0; the sum of the releases' own deltas is at most 1e-06. \
All of delta is for the releases' own deltas.
    """
    return " ".join((_promise(filter_), _freedom(), _limits(filter_), _division(filter_)))


def _promise(filter_: Filter) -> str:
    return (
        f"All answers together are ({filter_.epsilon!r}, {filter_.delta!r})-differentially private "
        "for every person in the data, even if all analysts put what they see together."
    )


def _freedom() -> str:
    return "They may choose each release, its noise and the moment to stop by all answers so far."


def _limits(filter_: Filter) -> str:
    every = "; ".join(map(_limit, filter_.every))
    if not filter_.some:
        return f"An answer is given only while these limits hold: {every}."
    some = ", or ".join(map(_limit, filter_.some))
    return f"An answer is given only while {every}, and at least one of these holds: {some}."


def _limit(meter: Meter) -> str:
    return f"{meter.words} is at most {_shown(meter.limit)}"


def _shown(limit: Fraction) -> str:
    value = float(limit)
    exact = repr(value)
    return (
        exact
        if Fraction(value) == limit and len(exact) < _SHORT
        else rounded_down(value, digits=TO_TYPE)
    )


def _division(filter_: Filter) -> str:
    if filter_.kind == "basic":
        return "All of delta is for the releases' own deltas."
    reserved = next(value for name, value in filter_.parameters if name == "reserved")
    slack = _shown(slack_of(delta=filter_.delta, reserved=reserved))
    kept = (
        f"Of delta, {reserved!r} is kept for the releases' own deltas and {slack}"
        if reserved
        else f"Nothing of delta is kept for deltas of releases (none may have one): {slack}"
    )
    bets = [meter for meter in filter_.some if not isinstance(meter, EpsilonMeter)]
    use = "is the chance that losses add up worse than that"
    if len(bets) > 1 and all(isinstance(meter, MomentMeter) for meter in bets):
        pairs = next(value for name, value in filter_.parameters if name == "orders")
        shares = ", ".join(f"{share:g} for order {order:g}" for order, share in pairs)
        use = f"{use}, divided among the orders in shares of {shares}"
    return f"{kept} {use}. All of this was fixed before the first answer."
