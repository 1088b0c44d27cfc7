r"""Bounds where the worst membership is not known: releases that cannot be compared, too many ways.

Two sound bounds, and the smaller one counts:

* *separately*: the most revealing pure parts and, apart from them, the largest deltas. The total is
  monotone in each, so no membership tells more than both choices together.
* *by moments*: for every order :math:`\theta` the log-moments of the losses add up, so those of any
  allowed choice are at most the largest sum, which the greedy choice finds; then
  :math:`\delta(\varepsilon) \le e^{K(\theta)-\theta\varepsilon}\theta^\theta/(1+\theta)^{1+\theta}`
  as for one composition. Where a person's record may change within a database, a choice weighs its
  changed databases and those that only one side has: with :math:`w = \max(w_{both}, 2w_{one})` its
  weight is at most half of w over each of the two memberships.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from quaestor.accounting.compose import compose
from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.curves.worst_of import LeastUpper
from quaestor.accounting.loss.engine.loss_sum import conversion, least_point
from quaestor.accounting.membership.release_order import Kind, kind_of, ranked
from quaestor.accounting.membership.rules import bits
from quaestor.accounting.numerics.balls import outward, working_precision
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases import ApproxDP
from quaestor.accounting.releases.black_box import BlackBox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.membership.nested_limits import Forest
    from quaestor.accounting.membership.worst_case import MembershipQuestion
    from quaestor.accounting.numerics.complexes import Floats
    from quaestor.accounting.releases import Release

__all__ = ["envelope"]


def envelope(question: MembershipQuestion, forest: Forest) -> Profile:
    """The best sound bound that needs no worst membership."""
    limits = forest.doubled() if question.neighbours == "replace" else forest
    apart = _separately(question, limits)
    if apart is not None and all(
        isinstance(release, BlackBox) for kind in question.databases.kinds for release, _ in kind
    ):
        return LeastUpper(apart)  # moments say no more about black boxes
    by_moments = _MomentEnvelope(question, limits)
    return LeastUpper(by_moments) if apart is None else LeastUpper(apart, by_moments)


def _chosen(question: MembershipQuestion, limits: Forest, weights: Sequence[float]) -> list[int]:
    """The kinds of the databases of largest total weight."""
    kind_at = question.databases.kind_at
    order = sorted(range(len(kind_at)), key=lambda i: -weights[kind_at[i]])
    return [kind_at[i] for i in bits(limits.greedy(order))]


def _separately(question: MembershipQuestion, limits: Forest) -> Profile | None:
    """The pure parts and the deltas, each chosen for itself, if each can be compared.

    Where records change in place the two do not part: every delta is raised to the largest.
    """
    kinds = question.databases.kinds
    if question.neighbours == "replace" and any(question.databases.directed):
        return None
    if question.replaced:
        boxes = [box for kind in kinds for box, _ in kind if isinstance(box, BlackBox)]
        largest = max((box.delta for box in boxes), default=0.0)
        raised = [_with_delta(kind, largest) for kind in kinds]
        chosen = _most_revealing(question, limits, raised)
        if chosen is None:
            return None
        return compose(*(release.with_record_replaced() for release in chosen)).tradeoff().profile
    pure = _most_revealing(question, limits, [_with_delta(kind, 0.0) for kind in kinds])
    failures = _most_revealing(question, limits, [_failures(kind) for kind in kinds])
    if pure is None or failures is None:
        return None
    return compose(*pure, *failures).tradeoff().profile


def _most_revealing(
    question: MembershipQuestion, limits: Forest, kinds: Sequence[Kind]
) -> list[Release] | None:
    """The releases of the greedy choice, if what stands for the kinds can be compared."""
    order = ranked(kinds)
    if order is None:
        return None
    weights = [0.0] * len(kinds)
    for place, kind in enumerate(order):
        weights[kind] = -float(place)
    chosen = Counter(_chosen(question, limits, weights))
    return [
        release * (count * times)
        for kind, times in chosen.items()
        for release, count in kinds[kind]
    ]


def _with_delta(kind: Kind, delta: float) -> Kind:
    return kind_of(
        (release.with_delta(delta=delta) if isinstance(release, BlackBox) else release) * count
        for release, count in kind
    )


def _failures(kind: Kind) -> Kind:
    return kind_of(
        ApproxDP(epsilon=0.0, delta=release.delta) * count
        for release, count in kind
        if isinstance(release, ApproxDP)
    )


class _MomentEnvelope(Profile):
    def __init__(self, question: MembershipQuestion, limits: Forest) -> None:
        self._question, self._limits = question, limits
        kinds = question.databases.kinds
        self._once = [[(release.losses(), count) for release, count in kind] for kind in kinds]
        self._both = (
            [
                [(release.with_record_replaced().losses(), count) for release, count in kind]
                for kind in kinds
            ]
            if question.replaced
            else None
        )
        self._moments: dict[float, float] = {}

    def _largest(self, of_law: list[float], of_both: list[float] | None) -> float:
        """The largest sum that the limits allow, rounded up."""
        weights = of_law
        if of_both is not None:
            weights = [max(both, 2 * one) for both, one in zip(of_both, of_law, strict=True)]
        chosen = _chosen(self._question, self._limits, weights)
        return math.fsum(max(weights[kind], 0.0) for kind in chosen) * (1 + 1e-12)

    def _log_moment(self, order: float) -> float:
        if order not in self._moments:
            both = None if self._both is None else _log_moments(self._both, order)
            self._moments[order] = self._largest(_log_moments(self._once, order), both)
        return self._moments[order]

    def _log_moments(self, orders: Floats) -> Floats:
        return np.array([self._log_moment(float(order)) for order in orders])

    def _outright(self) -> float:
        """The largest probability that some loss is infinite, rounded up."""
        both = None if self._both is None else _outright(self._both)
        with working_precision(128):
            return outward(-(-arb(self._largest(_outright(self._once), both))).expm1()).upper

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        outright = self._outright()
        if math.isinf(epsilon) or outright >= 1.0:
            return Bounds(lower=0.0, upper=min(outright, 1.0))

        def nats(orders: Floats) -> Floats:
            return self._log_moments(orders) - orders * epsilon + conversion(orders)

        best = float(nats(np.array([least_point(nats, ratio=1.02)]))[0])
        finite = math.exp(min(best + 1e-12 * (1 + abs(best)), 0.0)) if best > -700 else 1e-300
        return Bounds(lower=0.0, upper=min((outright + (1 - outright) * finite) * (1 + 1e-15), 1.0))

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        outright = self._outright()
        slack = (delta - outright) * (1 - 1e-15)
        if delta >= 1.0:
            return Bounds.exactly(0.0)
        if slack <= 0.0:
            largest = math.inf if outright > 0.0 else self._largest_loss()
            return Bounds(lower=0.0, upper=largest)

        def bound(orders: Floats) -> Floats:
            return (self._log_moments(orders) + conversion(orders) - math.log(slack)) / orders

        best = max(float(bound(np.array([least_point(bound, ratio=1.02)]))[0]), 0.0)
        return Bounds(lower=0.0, upper=best * (1 + 1e-12) + 1e-300)

    def _largest_loss(self) -> float:
        both = None if self._both is None else _largest_losses(self._both)
        return self._largest(_largest_losses(self._once), both)

    def supports(self, at_most: int) -> Sequence[float]:
        outright = min(self._outright(), 1.0)
        largest = self.epsilon_bounds(delta=min(outright + 1e-12, 1.0)).upper
        gaps = max(at_most - 1, 1)
        return [largest * i / gaps for i in range(gaps + 1)]


def _log_moments(kinds: list[list[tuple[tuple[Law, ...], int]]], order: float) -> list[float]:
    """For each kind an upper bound on its log-moment, in its worse direction."""
    at = np.array([complex(order)])

    def moment(law: Law) -> float:
        try:
            with np.errstate(all="ignore"):
                value, error = law.log_moment(at)
        except (OverflowError, ValueError):
            return math.inf  # nothing is known at this order, and others are tried
        total = float(value.real[0] + error[0])
        return total if math.isfinite(total) else math.inf

    return [math.fsum(count * max(map(moment, laws)) for laws, count in kind) for kind in kinds]


def _outright(kinds: list[list[tuple[tuple[Law, ...], int]]]) -> list[float]:
    def nats(law: Law) -> float:
        chance = law.infinite.upper
        return math.inf if chance >= 1.0 else -math.log1p(-chance) * (1 + 1e-15)

    return [sum(count * max(map(nats, laws)) for laws, count in kind) for kind in kinds]


def _largest_losses(kinds: list[list[tuple[tuple[Law, ...], int]]]) -> list[float]:
    return [sum(count * max(law.largest for law in laws) for laws, count in kind) for kind in kinds]
