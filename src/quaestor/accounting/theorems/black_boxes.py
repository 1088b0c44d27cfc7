"""A history of black boxes, sorted into groups that the theorems can count with."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.numerics.balls import ONE, ZERO, working_precision
from quaestor.accounting.releases import Release
from quaestor.errors import InvalidParameter, TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["BlackBoxes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackBoxes:
    r"""The (epsilon, delta) of every release, equal ones counted together.

    The worst case of an :math:`(\varepsilon, \delta)`-DP release tells everything with probability
    :math:`\delta` and is randomized response otherwise [Kairouz, Oh, Viswanath, eqs. (12), (13)],
    so the two parameters part ways at once: ``failures`` tell everything, ``responses`` compose.

    Attributes:
        steps: ``(epsilon, delta, count)`` of the history as it was described.
        responses: ``(epsilon, count)``, largest epsilon first, zeros left out.
        failures: ``(delta, count)``, zeros left out.
    """

    steps: tuple[tuple[float, float, int], ...]
    responses: tuple[tuple[float, int], ...]
    failures: tuple[tuple[float, int], ...]

    @classmethod
    def of(cls, releases: Iterable[Release]) -> BlackBoxes:
        """Sort releases into groups; every one must promise an (epsilon, delta)."""
        steps: Counter[tuple[float, float]] = Counter()
        for release in releases:
            if not isinstance(release, Release):
                raise InvalidParameter("release", release, "a release, such as PureDP(epsilon=0.1)")
            single, count = release.counted()
            if single.black_box is None:
                raise TheoremDoesNotApply(
                    f"applies to (epsilon, delta) releases only, not to {type(single).__name__}"
                )
            steps[single.black_box] += count
        responses: Counter[float] = Counter()
        failures: Counter[float] = Counter()
        for (epsilon, delta), count in steps.items():
            responses[epsilon] += count
            failures[delta] += count
        del responses[0.0], failures[0.0]
        return cls(
            steps=tuple((*key, count) for key, count in sorted(steps.items(), reverse=True)),
            responses=tuple(sorted(responses.items(), reverse=True)),
            failures=tuple(sorted(failures.items(), reverse=True)),
        )

    @classmethod
    def pure(cls, responses: tuple[tuple[float, int], ...]) -> BlackBoxes:
        """Groups ``(epsilon, count)`` of randomized responses that never fail."""
        return cls(
            steps=tuple((epsilon, 0.0, count) for epsilon, count in responses),
            responses=responses,
            failures=(),
        )

    @property
    def count(self) -> int:
        """How many releases there are."""
        return sum(count for _, _, count in self.steps)

    def total_epsilon(self) -> arb:
        """The sum of all epsilons: beyond it only failures tell worlds apart."""
        with working_precision(256):
            return sum((arb(epsilon) * count for epsilon, count in self.responses), ZERO)

    def total_delta(self) -> arb:
        """The plain sum of all deltas."""
        with working_precision(256):
            return sum((arb(delta) * count for delta, count in self.failures), ZERO)

    def failure(self) -> arb:
        """Enclose the probability that some release tells everything: 1 - prod(1 - delta)."""
        return _failure(self.failures)

    def slack(self, delta: float) -> arb:
        """What is left of a total ``delta`` for the responses: 1 - (1 - delta)/prod(1 - delta_i).

        Its sign decides whether any epsilon is true at this delta, so the sign is never left to
        rounding: where a ball straddles zero, the product is formed exactly.
        """
        with working_precision(256):
            failure = self.failure()
            if failure == 1:  # something tells everything: only a delta of 1 covers it
                return arb(0 if delta == 1.0 else -1)
            left = (delta - failure) / (1 - failure)
        if left.is_exact() or not left.contains(ZERO):
            return left
        with working_precision(8192):
            kept = ONE
            for each, count in self.failures:
                kept *= (1 - arb(each)) ** count
            return 1 - (1 - arb(delta)) / kept

    def atom_count(self) -> int:
        """How many different outcomes the responses have: one for each number of lies, by group."""
        return math.prod(count + 1 for _, count in self.responses)

    def atoms(self) -> dict[Fraction, arb]:
        """Every privacy loss of the responses, exactly, with an enclosure of its probability."""
        atoms = {Fraction(0): ONE}
        for epsilon, count in self.responses:
            odds = (-arb(epsilon)).exp()
            term = (-count * odds.log1p()).exp()
            grown: dict[Fraction, arb] = defaultdict(lambda: ZERO)
            for lies in range(count + 1):
                step = Fraction(epsilon) * (count - 2 * lies)
                for loss, mass in atoms.items():
                    grown[loss + step] += term * mass
                term = term * odds * (count - lies) / (lies + 1)
            atoms = grown
        return atoms

    def typical_epsilon(self, slack: float) -> float:
        """A guess of the epsilon at which the pure part is ``slack``: where a search may start."""
        mean = sum(count * epsilon * math.tanh(epsilon / 2) for epsilon, count in self.responses)
        variance = sum(
            count * (epsilon / math.cosh(min(epsilon, 700.0) / 2)) ** 2
            for epsilon, count in self.responses
        )
        return mean + math.sqrt(2 * variance * -math.log(min(max(slack, 5e-324), 1.0)))


@lru_cache(maxsize=256)
def _failure(failures: tuple[tuple[float, int], ...]) -> arb:
    with working_precision(256):
        if len(failures) == 1 and failures[0][1] == 1:
            return arb(failures[0][0])
        if any(delta == 1.0 for delta, _ in failures):
            return ONE
        return -sum(((-arb(delta)).log1p() * count for delta, count in failures), ZERO).expm1()
