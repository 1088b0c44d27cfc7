r"""The sound rule for any two priors: match memberships, and pay for each match.

Theorem:
    For every coupling of the two priors, with weights :math:`w_i` on pairs :math:`(b_0^i, b_1^i)`,
    :math:`\delta(\varepsilon) \le \sum_i w_i\,\delta_{b_0^i, b_1^i}(\varepsilon)` in both
    directions, because the hockey stick is jointly convex. Epsilon is fixed first; mixing
    epsilons, as the paper does, is not sound. The cheapest coupling is a transport problem.

Weights are fractions, so that a coupling has exactly the marginals it should; costs are floats that
bound from above, and any coupling is sound, so rounding in the search for the cheapest does not
matter.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.accounting.curves.epsilon_search import least_epsilon
from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.accounting.hypothesis.priors import Weights

__all__ = ["Transport", "cheapest"]

Coupling = dict[tuple[int, int], Fraction]


def cheapest(null: Weights, alternative: Weights, cost: Callable[[int, int], float]) -> Coupling:
    """The coupling of least cost: the shortest augmenting path, again and again.

    >>> half = Fraction(1, 2)
    >>> cheapest({0: half, 1: half}, {1: half, 2: half}, lambda a, b: float(abs(a - b)))
    {(0, 2): Fraction(1, 2), (1, 1): Fraction(1, 2)}
    """
    sources, sinks = list(null), list(alternative)
    supply, demand = dict(null), dict(alternative)
    flow: Coupling = {}
    costs = {(a, b): cost(a, b) for a in sources for b in sinks}
    while any(supply.values()):
        path = _shortest_path(sources, sinks, supply, demand, costs, flow)
        start, end = path[0][0], path[-1][1]
        room = min(
            supply[start],
            demand[end],
            *(flow[b_a] for b_a, forward in _steps(path) if not forward),
        )
        for edge, forward in _steps(path):
            flow[edge] = flow.get(edge, Fraction(0)) + (room if forward else -room)
            if not flow[edge]:
                del flow[edge]
        supply[start] -= room
        demand[end] -= room
    return dict(sorted(flow.items()))


def _steps(path: Sequence[tuple[int, int]]) -> list[tuple[tuple[int, int], bool]]:
    """Edges of an alternating path: forward ones, and between them those that are given back."""
    steps: list[tuple[tuple[int, int], bool]] = []
    for place, edge in enumerate(path):
        steps.append((edge, True))
        if place + 1 < len(path):
            steps.append(((path[place + 1][0], edge[1]), False))
    return steps


def _shortest_path(  # noqa: PLR0913  # the state of the search
    sources: Sequence[int],
    sinks: Sequence[int],
    supply: Weights,
    demand: Weights,
    costs: dict[tuple[int, int], float],
    flow: Coupling,
) -> list[tuple[int, int]]:
    """Forward edges of the cheapest way from a source with supply to a sink with demand."""
    at_source = {a: 0.0 if supply[a] else math.inf for a in sources}
    at_sink = dict.fromkeys(sinks, math.inf)
    into_sink: dict[int, int] = {}
    into_source: dict[int, int] = {}
    for _ in range(len(sources) + 1):  # Bellman and Ford
        changed = False
        for (a, b), cost in costs.items():
            if at_source[a] + cost < at_sink[b] - 1e-15:
                at_sink[b], into_sink[b], changed = at_source[a] + cost, a, True
        for a, b in flow:
            if at_sink[b] - costs[a, b] < at_source[a] - 1e-15:
                at_source[a], into_source[a], changed = at_sink[b] - costs[a, b], b, True
        if not changed:
            break
    end = min((b for b in sinks if demand[b]), key=at_sink.__getitem__)
    path = [(into_sink[end], end)]
    while path[0][0] in into_source and len(path) <= len(sources):
        b = into_source[path[0][0]]
        path.insert(0, (into_sink[b], b))
    return path


class Transport(Profile):
    """The bound of the cheapest coupling, at every epsilon for itself; one for both directions."""

    def __init__(
        self,
        null: Weights,
        alternative: Weights,
        curve: Callable[[int, int], Profile | None],
    ) -> None:
        """``curve`` is that of two memberships (or sizes); None where they are the same."""
        self.null, self.alternative = null, alternative
        self._curves: dict[tuple[int, int], Profile | None] = {
            (a, b): curve(a, b) for a in null for b in alternative
        }
        self._known: dict[tuple[int, float], float] = {}

    def _cost(self, curve: Profile | None, epsilon: float) -> float:
        if curve is None:
            return 0.0
        key = id(curve), epsilon
        if key not in self._known:
            self._known[key] = curve.delta_bounds(epsilon=epsilon).upper
        return self._known[key]

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Between nothing and the cost of the cheapest coupling."""
        costs = {pair: self._cost(curve, epsilon) for pair, curve in self._curves.items()}
        coupling = self.coupling(costs)
        total = math.fsum(float(weight) * costs[pair] for pair, weight in coupling.items())
        return Bounds(lower=0.0, upper=min(total * (1 + 1e-12), 1.0))

    def coupling(self, costs: dict[tuple[int, int], float]) -> Coupling:
        """The cheapest coupling at these costs; with one side a point there is only one."""
        if len(self.null) == 1 or len(self.alternative) == 1:
            return {
                (a, b): weight_a * weight_b
                for a, weight_a in self.null.items()
                for b, weight_b in self.alternative.items()
            }
        return cheapest(self.null, self.alternative, lambda a, b: costs[a, b])

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Between nothing and the least epsilon at which the bound fits."""
        if delta >= 1.0:
            return Bounds.exactly(0.0)
        curves = [curve for curve in self._curves.values() if curve is not None]
        largest = max((curve.epsilon_bounds(delta=delta).upper for curve in curves), default=0.0)
        found = least_epsilon(
            lambda epsilon: Bounds.exactly(self.delta_bounds(epsilon=epsilon).upper),
            target=Bounds.exactly(delta),
            guess=largest / 2 if math.isfinite(largest) else 1.0,
            largest=largest,
        )
        return Bounds(lower=0.0, upper=found.upper)

    def supports(self, at_most: int) -> Sequence[float]:
        """Those of the curve that reaches furthest."""
        curves = {id(curve): curve for curve in self._curves.values() if curve is not None}
        choices = [curve.supports(at_most) for curve in curves.values()]
        return max(choices, key=lambda supports: supports[-1], default=[0.0])
