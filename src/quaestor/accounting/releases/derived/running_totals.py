"""Running totals under continual observation, by a named strategy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import check_count
from quaestor.accounting.releases.derived.correlated_noise import CorrelatedNoise
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.releases.derived.participation import Participation
    from quaestor.accounting.releases.derived.strategies import CountingError, Strategy

__all__ = ["ContinualCounting"]

_MOST_STEPS = 10**6
_MOST_BANDED_STEPS = 20_000  # whose error is computed term by term


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinualCounting(CorrelatedNoise):
    r"""Running totals of ``steps`` values: continual counting, DP-FTRL and tree aggregation.

    Gaussian noise of deviation ``sigma`` is added to Cx, and totals are computed from that. C is
    named by ``strategy``:

    - ``identity``: noise on every value (DP-SGD without sampling).
    - ``prefix_sums``: noise on every total.
    - ``binary_tree``: noise on every node of a binary tree, once it is complete; a total is the sum
      of one node for each bit of its step.
    - ``honaker_tree``: the same release, with Honaker's estimate from below for the totals.
    - ``square_root``: the square root of the totals' matrix, optimal up to a constant
      [Henzinger, Upadhyay, Upadhyay 2023]; with ``bands`` only so many of its diagonals
      [Kalinin, Lampert 2024].

    A person changes at most ``participations`` values, each by at most ``sensitivity`` in L2, and
    any two of them at least ``separation`` steps apart (``periodic``: exactly).

    Guarantee:
        Gaussian noise on a query whose L2 sensitivity is at most ``sensitivity_bounds().upper``. It
        is attained by the strategies whose columns fall (all but trees) and by trees with one
        participation; trees with several are bounded level by level. Adaptive inputs are covered
        [Denisov et al. 2022, Theorem 2.1].

    >>> from quaestor import compose
    >>> totals = ContinualCounting(sigma=8.0, steps=1000, strategy="binary_tree")
    >>> round(compose(totals).mu().upper, 6)  # a value is in 10 nodes: the root of 10, by 8
    0.395285
    >>> round(totals.counting_error().largest, 6)  # step 511 has nine bits: the root of 9, times 8
    24.0
    """

    sigma: float
    steps: int
    strategy: str = "square_root"
    bands: int | None = None
    participations: int = 1
    separation: int = 1
    periodic: bool = False
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        self._check_participation()
        object.__setattr__(self, "steps", check_count("steps", self.steps, largest=_MOST_STEPS))
        if self.bands is not None:
            object.__setattr__(self, "bands", check_count("bands", self.bands))
        self._strategy()

    def _strategy(self) -> Strategy:
        from quaestor.accounting.releases.derived.strategies import checked_strategy

        return checked_strategy(self.strategy, self.steps, self.bands)

    def _unit_sensitivity(self) -> Bounds:
        return _sensitivity(self._strategy(), self._participation())

    def _column(self) -> tuple[float, int]:
        from quaestor.accounting.releases.derived.participation import Participation

        reach = self._strategy().reach()
        if reach is None or reach > self.separation:
            valid = f"a strategy whose columns have at most {self.separation} entries"
            raise InvalidParameter("separation", self.separation, f"{valid}: set bands")
        return _sensitivity(self._strategy(), Participation()).upper, self.steps

    def counting_error(self) -> CountingError:
        """The standard deviation of running totals that are computed from the release, about.

        >>> totals = ContinualCounting(sigma=2.0, steps=4, strategy="identity")
        >>> totals.counting_error().largest
        4.0
        """
        if self.bands is not None and self.steps > _MOST_BANDED_STEPS:
            valid = f"at most {_MOST_BANDED_STEPS} with bands, for the error of totals"
            raise InvalidParameter("steps", self.steps, valid)
        unit = _error(self._strategy())
        return unit._replace(
            root_mean_square=self.sigma * unit.root_mean_square, largest=self.sigma * unit.largest
        )


@lru_cache(maxsize=256)
def _sensitivity(strategy: Strategy, participation: Participation) -> Bounds:
    return strategy.sensitivity(participation)


@lru_cache(maxsize=256)
def _error(strategy: Strategy) -> CountingError:
    return strategy.error()
