r"""A second opinion on every answer, reached in another way; two true intervals always overlap.

Beside the answer of a composition stand bounds that share no code with it:

* *below*: what one of its releases reveals alone, in closed form; the Gaussians among them as one;
  of a release that comes k times, the tests "all of them speak" and "some of them speaks"; and
  :math:`\delta \ge 1 - e^{\varepsilon/2}\prod\sum\sqrt{PQ}`, as the smaller of two numbers is at
  most the root of their product;
* *above*: a single release in closed form; :math:`\delta \le \delta_\infty + e^{\lambda(\lambda+1)
  \rho-\lambda\varepsilon}\lambda^\lambda/(1+\lambda)^{1+\lambda}` with the sum of the rhos of
  concentrated privacy (Chernoff), and :math:`\delta_\infty+\sqrt{\rho/2}` (Pinsker); the sum of
  all deltas at epsilon 0, for total variation distances of products add up at most;
* *at the end*: :mod:`quaestor.accounting.curve_end`, exactly.

Where they overlap, what both say together is the answer. Where they do not, one of the two is
wrong, and no number is given.
"""

from __future__ import annotations

import math
from functools import lru_cache
from heapq import nlargest
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from quaestor.accounting.curve_end import CurveEnd
from quaestor.accounting.curves.profile import Profile, WorldPair
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.opinion import (
    gaussian_curve,
    response_log_overlap,
    response_opinion,
    rho_of_loss,
    truth,
)
from quaestor.errors import InconsistentAnswers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.releases import Release
    from quaestor.accounting.releases.opinion import Opinion
    from quaestor.accounting.theorems.black_boxes import BlackBoxes

__all__ = ["BlackBoxOpinion", "Corroborated", "SecondOpinion"]

_FEW = 64  # different releases that are asked about one by one at epsilon 0
_HEARD = 4  # releases that are asked about one by one: those of which most is known
_UP = 1 + 1e-12
_LEAST_SQUARE = 1e-290  # of a mu: below it floats lose digits, and its root is another mu
_LEAST = 4e-323  # what a few operations lose where floats have no more digits
_ROOT_HALF = math.sqrt(0.5) * _UP
_CERTAIN = -45.0  # nats below 1: beyond what a float shows of 1 - delta
_VANISHING = 1e-290  # deltas that the engine does not tell from 0


_NOTHING = CurveEnd()


class _Group(NamedTuple):
    known: Opinion
    times: int

    @property
    def rho(self) -> float:
        return self.known.rho * self.times


class SecondOpinion:
    """What is known about some releases together without composing them; running totals."""

    knows_the_end: ClassVar[bool] = True
    """Whether it answers by itself where the curve ends."""

    def __init__(self, end: CurveEnd = _NOTHING) -> None:
        """Nothing was released yet."""
        self.end = end
        self._groups: tuple[_Group, ...] = ()
        self._count = 0
        self._rho = 0.0
        self._square = 0.0  # of the mus of the Gaussians
        self._log_overlap = 0.0
        self._at_zero = 0.0  # the sum of all deltas at epsilon 0
        self._outright_bounds: Bounds | None = None

    @classmethod
    def of(cls, releases: tuple[Release, ...]) -> SecondOpinion:
        """The opinion about these releases."""
        return _of_one(releases[0]) if len(releases) == 1 else _NO_RELEASES.then(releases)

    @classmethod
    def of_boxes(cls, boxes: BlackBoxes) -> SecondOpinion:
        """The same about many different black boxes, without a look at each release."""
        opinion = cls(CurveEnd.of_boxes(boxes.responses, boxes.failures))
        opinion._count, opinion._at_zero = boxes.count, math.inf  # the sum of so many says little
        opinion._rho = math.fsum(rho_of_loss(e) * n for e, n in boxes.responses) * _UP
        opinion._log_overlap = (1 - 1e-12) * math.fsum(
            response_log_overlap(e, top=truth(e), outright=d) * n for e, d, n in boxes.steps
        )
        heard = nlargest(_HEARD, boxes.steps, key=lambda step: rho_of_loss(step[0]) * step[2])
        opinion._groups = tuple(
            _Group(response_opinion(e, top=truth(e), outright=d), n) for e, d, n in heard
        )
        return opinion

    def then(self, releases: Iterable[Release]) -> SecondOpinion:
        """The same with more releases; the old ones are not looked at again."""
        added = [each.counted() for each in releases]
        longer = SecondOpinion(self.end.then(added))
        rho, square, overlap = self._rho, self._square, self._log_overlap
        at_zero = self._at_zero if len(added) <= _FEW else math.inf
        groups = [*self._groups]
        for release, count in added:
            known = release.opinion()
            if known is None:
                rho = at_zero = math.inf
                continue
            if at_zero < 1.0:
                at_zero += known.curve(0.0)[1] * count * _UP + _LEAST
            rho += known.rho * count * _UP
            overlap += known.log_overlap * count * (1 - 1e-12)
            if known.mu is not None:
                square += known.mu * known.mu * count * (1 - 1e-12)
            groups.append(_Group(known, count))
        longer._count = self._count + sum(count for _, count in added)
        longer._rho, longer._square, longer._log_overlap = rho, square, overlap
        longer._at_zero = at_zero
        longer._groups = tuple(nlargest(_HEARD, groups, key=attrgetter("rho")))
        return longer

    def at_least(self, epsilon: float) -> float:
        """A lower bound on delta: tests that somebody could make."""
        knows_mu = self._square > _LEAST_SQUARE
        gaussian = gaussian_curve(math.sqrt(self._square), epsilon)[0] if knows_mu else 0.0
        tests = (_most_of(group, epsilon) for group in self._groups)
        apart = self._log_overlap + epsilon / 2
        roots = -math.expm1(apart) * (1 - 1e-12) if apart < 0.0 else 0.0
        return max(max((gaussian, roots, *tests)) - _LEAST, self._outright().lower)

    def without_composing(self, epsilon: float) -> Bounds | None:
        """Delta where it is nearly 1, or less than floats can hold well: nobody knows it better."""
        if self._log_overlap + epsilon / 2 < _CERTAIN:
            return Bounds(lower=1 - 2.0**-50, upper=1.0)
        most = self.at_most(epsilon)
        return Bounds(lower=self._outright().lower, upper=most) if most < _VANISHING else None

    def epsilon_without_composing(self, delta: float) -> Bounds | None:
        """Epsilon where it is 0, or where delta is too close to what is told outright."""
        if delta >= 1.0 or self.at_most(0.0) <= delta:
            return Bounds.exactly(0.0)
        outright = self._outright()
        if outright.lower > 0.0 and delta <= outright.upper * (1 + 4e-16) and self.end.known:
            return Bounds(lower=0.0, upper=max(self.end.largest(d).upper for d in (0, 1)))
        return None

    def at_most(self, epsilon: float) -> float:
        """An upper bound on delta: one release in closed form, or Chernoff's and Pinsker's."""
        if self._count == 1 and self._groups:
            return min(self._groups[0].known.curve(epsilon)[1] + _LEAST, 1.0)
        finite = min(_chernoff(self._rho, epsilon), math.sqrt(self._rho) * _ROOT_HALF)
        if finite >= 1.0:
            return min(self._at_zero, 1.0)
        return min((finite + self._outright().upper) * _UP + _LEAST, self._at_zero, 1.0)

    def _outright(self) -> Bounds:
        """Enclose the probability that everything is told outright, in the worse direction."""
        if self._outright_bounds is None:
            self._outright_bounds = (
                self.end.worst_outright() if self.end.known else Bounds(lower=0.0, upper=1.0)
            )
        return self._outright_bounds

    def of_delta(self, answer: Bounds, epsilon: float) -> Bounds:
        """What the answer and this opinion say together about delta at ``epsilon``."""
        if self._count == 1 and self._groups:
            lower, upper = self._groups[0].known.curve(epsilon)
            lower, upper = lower - _LEAST, min(upper + _LEAST, 1.0)
        else:
            lower, upper = self.at_least(epsilon), self.at_most(epsilon)
        if lower <= answer.lower and answer.upper <= upper:
            return answer
        if lower > answer.upper or upper < answer.lower:
            raise InconsistentAnswers(
                f"delta at epsilon = {epsilon!r}",
                first=(answer.lower, answer.upper),
                second=(lower, upper),
            )
        return Bounds(lower=max(lower, answer.lower), upper=min(upper, answer.upper))

    def of_epsilon(self, answer: Bounds, delta: float) -> Bounds:
        """What the answer and this opinion say together about epsilon at ``delta``.

        The upper end must be enough for the tests below, and just less than the lower end must not
        be enough by the bounds above.
        """
        if delta >= 1.0:
            return answer
        largest = self.largest_epsilon(delta)
        less = math.nextafter(answer.lower, 0.0)
        if (
            (answer.upper < math.inf and self.at_least(answer.upper) > delta)
            or largest < answer.lower
            or (answer.lower > 0.0 and math.isfinite(less) and self.at_most(less) <= delta)
        ):
            raise InconsistentAnswers(
                f"epsilon at delta = {delta!r}",
                first=(answer.lower, answer.upper),
                second=(0.0, largest),
            )
        return answer if answer.upper <= largest else Bounds(lower=answer.lower, upper=largest)

    def largest_epsilon(self, delta: float) -> float:
        """The sum of the largest losses, or Chernoff's epsilon, where what is told fits."""
        if not self.end.known:
            return math.inf
        outright = self._outright().upper
        if not outright < delta:
            return math.inf
        largest = max(self.end.largest(direction).upper for direction in (0, 1))
        slack = (delta - outright) * (1 - 1e-12)
        if not (slack > 0.0 and self._rho < math.inf):
            return largest
        chernoff = self._rho + 2 * math.sqrt(self._rho) * math.sqrt(max(-math.log(slack), 0.0))
        return min(largest, chernoff * _UP + 5e-324)


_NO_RELEASES = SecondOpinion()


@lru_cache(maxsize=1024)
def _of_one(release: Release) -> SecondOpinion:
    return _NO_RELEASES.then((release,))


class BlackBoxOpinion(SecondOpinion):
    """The same about black boxes, for which the theorems know the end of the curve themselves.

    Their answers take microseconds; so this asks about the largest epsilon alone.
    """

    knows_the_end: ClassVar[bool] = False

    def __init__(self, boxes: BlackBoxes) -> None:
        """Add up what the bounds need."""
        super().__init__()
        responses = boxes.responses
        self._largest = responses[0][0] if responses else 0.0
        self._rho = sum(n * (e * math.tanh(e / 2) + 5e-324) for e, n in responses) * _UP
        outright = -math.fsum(n * math.log1p(-d) for d, n in boxes.failures if d < 1.0)
        outright = 1.0 if boxes.failures and boxes.failures[0][0] == 1.0 else -math.expm1(-outright)
        self._outright_bounds = Bounds(lower=outright * (1 - 1e-12), upper=min(outright * _UP, 1.0))
        self._at_zero = 1.0
        self._total = math.fsum(n * e for e, n in responses) * _UP

    def at_least(self, epsilon: float) -> float:
        """Everything is told, or the largest response is heard alone."""
        outright, largest = self._outright().lower, self._largest
        if epsilon >= largest:
            return outright
        rest = -math.expm1(epsilon - largest) / (1 + math.exp(-largest))
        return max((outright + (1 - outright) * rest) * (1 - 1e-9) - _LEAST, 0.0)

    def largest_epsilon(self, delta: float) -> float:
        """The sum of the epsilons."""
        return self._total if self._outright().upper < delta else math.inf


def _most_of(group: _Group, epsilon: float) -> float:
    """The best of a few tests on the copies of one release."""
    known, count = group
    alone = known.curve(epsilon)[0]
    if count == 1 or known.test is None:
        return alone
    each = known.test(epsilon / count)
    every = 0.0
    if each.least > 0.0:
        chance = math.exp(count * math.log(each.least) * _UP)
        fall = epsilon + count * each.log_most
        every = chance * (1 - 1e-9) - (math.exp(fall) * (1 + 1e-9) if fall < 1.0 else math.inf)
    some = known.test(epsilon)
    first = -math.expm1(count * math.log1p(-some.least)) if some.least < 1.0 else 1.0
    fall = epsilon + math.log(count) + some.log_most  # a union of as many
    any_speaks = first * (1 - 1e-9) - (math.exp(fall) * (1 + 1e-9) if fall < 1.0 else math.inf)
    return max(alone, every, any_speaks)


def _chernoff(rho: float, epsilon: float) -> float:
    """The moment bound of a rho at its own best order."""
    if not rho < epsilon:
        return 1.0
    if rho == 0.0:
        return 0.0
    order = (epsilon - rho) / 2 / rho
    if not order < 1e300:
        return 5e-324
    gained = math.log1p(order) + order * math.log1p(1 / order) if order > 1e-300 else 0.0
    nats = -(epsilon - rho) * order / 2 * (1 - 1e-12) - gained * (1 - 1e-12)
    return math.exp(nats) * _UP + 5e-324 if nats > -745.0 else 5e-324


class Corroborated(Profile):
    """A profile whose every answer is held against a second opinion."""

    def __init__(self, profile: Profile, opinion: SecondOpinion) -> None:
        """Keep both."""
        self.profile, self.opinion = profile, opinion
        self.pairs_suffice = profile.pairs_suffice

    def shared(self) -> Corroborated:
        """The profile for many points, held against the same opinion."""
        return Corroborated(self.profile.shared(), self.opinion)

    def upper_ends(self) -> Corroborated:
        """Those of the profile, held against the same opinion."""
        upper = self.profile.upper_ends()
        return self if upper is self.profile else Corroborated(upper, self.opinion)

    def world_pairs(self) -> tuple[WorldPair, ...]:
        """Those of the profile; a curve that is the same both ways is this one."""
        pairs = self.profile.world_pairs()
        if len(pairs) == 1 and self.pairs_suffice and pairs[0].over is pairs[0].under:
            return (WorldPair(self, self),)
        return pairs

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the curve; exactly at its end, and nowhere against the second opinion."""
        if self.opinion.knows_the_end:
            at_the_end = self.opinion.end.delta(epsilon)
            if at_the_end is None and not self.profile.knows_small_deltas:
                at_the_end = self.opinion.without_composing(epsilon)
            if at_the_end is not None:
                return at_the_end
        return self.opinion.of_delta(self.profile.delta_bounds(epsilon=epsilon), epsilon)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon; exactly where nothing is left beside what is told."""
        if self.opinion.knows_the_end:
            at_the_end = self.opinion.end.epsilon(delta)
            if at_the_end is None:
                at_the_end = self.opinion.epsilon_without_composing(delta)
            if at_the_end is not None:
                return at_the_end
        return self.opinion.of_epsilon(self._solved(delta), delta)

    def _solved(self, delta: float) -> Bounds:
        """The profile's epsilon; of a delta that it cannot resolve, what a larger one leaves."""
        if delta >= _VANISHING or not self.opinion.knows_the_end:
            return self.profile.epsilon_bounds(delta=delta)
        if self.profile.knows_small_deltas or self.opinion.largest_epsilon(delta) == math.inf:
            return self.profile.epsilon_bounds(delta=delta)
        least = self.profile.epsilon_bounds(delta=_VANISHING).lower
        return Bounds(lower=least, upper=math.inf)

    def supports(self, at_most: int) -> Sequence[float]:
        """Those of the profile."""
        return self.profile.supports(at_most)

    def exact_vertices(self, at_most: int) -> tuple[tuple[Bounds, Bounds], ...] | None:
        """Those of the profile."""
        return self.profile.exact_vertices(at_most)

    def exact_false_negative(self, false_positive: float) -> Bounds | None:
        """That of the profile."""
        return self.profile.exact_false_negative(false_positive)
