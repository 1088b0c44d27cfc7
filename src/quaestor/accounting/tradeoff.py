"""What an attacker can do: trade-off curve, privacy region, advantage, belief.

Two neighbouring worlds, one transcript, and a test that guesses which world it came from. The
*false positive* rate is how often the test cries wolf, the *false negative* rate how often it
misses. The privacy region is the set of pairs that some test can reach; everything here is read
off its lower boundary f, the trade-off curve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from flint import arb

from quaestor.accounting.curves.boundary_search import false_negative
from quaestor.accounting.curves.profile import WorldPair
from quaestor.accounting.numerics.balls import ball_of, outward, working_precision
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.digits import rounded_down, rounded_up
from quaestor.accounting.numerics.many_values import at_each, is_many
from quaestor.accounting.releases.base import check_real
from quaestor.documents.presented import Presented
from quaestor.documents.text_table import TextTable, headed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.numerics.many_values import FloatArray, ManyFloats

__all__ = ["Tradeoff", "Vertex"]

_ALARMS = (0.01, 0.05, 0.1)  # of the table
_DRAWN = 201


class Vertex(NamedTuple):
    """A corner of the privacy region's lower boundary, rounded towards the origin.

    >>> from quaestor import ApproxDP, compose
    >>> compose(ApproxDP(epsilon=0.0, delta=0.25)).tradeoff().vertices()[0]
    Vertex(false_positive=0.0, false_negative=0.75)
    """

    false_positive: float
    false_negative: float


@dataclass(frozen=True, slots=True)
class Tradeoff(Presented):
    r"""The privacy region of a composition.

    Guarantee:
        No test reaches below :math:`f(a) = \sup_{\varepsilon \ge 0} \max(0, 1 -
        \delta(\varepsilon) - e^{\varepsilon}a, e^{-\varepsilon}(1 - \delta(\varepsilon) - a))`
        [Kairouz, Oh, Viswanath, Theorem 2.1 and Corollary 2.3].

    >>> from quaestor import ApproxDP, compose
    >>> region = compose(ApproxDP(epsilon=0.0, delta=0.25)).tradeoff()
    >>> region.false_negative(false_positive=0.25)
    0.5
    """

    profile: Profile

    @overload
    def false_negative(self, *, false_positive: float) -> float: ...
    @overload
    def false_negative(self, *, false_positive: ManyFloats) -> FloatArray: ...
    def false_negative(self, *, false_positive: Any) -> Any:
        """A sound lower bound on the false negatives of any test with these false positives.

        Of an array of false positives, an array: each is certified, and they cost less than one
        by one.

        >>> from quaestor import PureDP, compose
        >>> region = compose(PureDP(epsilon=1.0)).tradeoff()
        >>> region.false_negative(false_positive=[0.0, 0.1, 1.0]).round(3)
        array([1.   , 0.728, 0.   ])
        """
        boundary = _Boundary(self.profile)

        def lower(alarm: object) -> float:
            return boundary.at(check_real("false_positive", alarm, low=0.0, high=1.0)).lower

        many = is_many(false_positive)
        return at_each("false_positive", false_positive, lower) if many else lower(false_positive)

    def false_negative_bounds(self, *, false_positive: float) -> Bounds:
        """Enclose the false negatives of the best test with these false positives.

        Where adding and removing a person differ, these are two regions, and the better test of
        the two counts. Their convex hull is larger than both: no single test reaches it.
        """
        alarm = check_real("false_positive", false_positive, low=0.0, high=1.0)
        return _Boundary(self.profile).at(alarm)

    def vertices(self, *, at_most: int = 1001) -> tuple[Vertex, ...]:
        """The corners of the boundary, from no false positives to no false negatives.

        All of them where there are no more than ``at_most``. Otherwise the corners of a polygon
        cut out by so many supporting lines: it contains the region, and touches it often. Where
        adding and removing a person differ, it is drawn around the convex hull of both regions.
        """
        corners = self.vertex_bounds(at_most=at_most)
        if corners is not None:
            return tuple(Vertex(alarm.lower, missed.lower) for alarm, missed in corners)
        return self._outer_polygon(self.profile.supports(max(at_most // 2, 2)))

    def vertex_bounds(self, *, at_most: int = 1001) -> tuple[tuple[Bounds, Bounds], ...] | None:
        """Certified intervals for every corner, or None where they are too many or not known."""
        return self.profile.exact_vertices(at_most)

    def advantage(self) -> Bounds:
        """Enclose the best attack advantage, true minus false positives: the total variation."""
        return self.profile.delta_bounds(epsilon=0.0)

    def bayes_error(self, *, prior: float) -> float:
        """A lower bound on how often any attacker guesses wrong; see ``bayes_error_bounds``."""
        return self.bayes_error_bounds(prior=prior).lower

    def bayes_error_bounds(self, *, prior: float) -> Bounds:
        r"""Enclose the least probability of a wrong guess, if the person is in with ``prior``.

        :math:`\min(\pi, 1-\pi)\,(1-\delta(|\log\frac{1-\pi}{\pi}|))`.
        """
        chance = check_real("prior", prior, low=0.0, high=1.0)
        if chance in (0.0, 1.0):
            return Bounds.exactly(0.0)
        with working_precision(128):
            odds = outward(((1 - arb(chance)) / chance).log())
            near = max(0.0, min(abs(odds.lower), abs(odds.upper)))
            far = max(abs(odds.lower), abs(odds.upper))
            delta = Bounds(
                lower=self.profile.delta_bounds(epsilon=far).lower,
                upper=self.profile.delta_bounds(epsilon=near).upper,
            )
            smaller = arb(chance).min(1 - arb(chance))
            return outward(smaller * (1 - ball_of(delta))).clipped(0.0, 0.5)

    def posterior(self, *, prior: float, false_positive: float = 0.0) -> float:
        """An upper bound on what an attacker may come to believe; see ``posterior_bounds``."""
        return self.posterior_bounds(prior=prior, false_positive=false_positive).upper

    def posterior_bounds(self, *, prior: float, false_positive: float = 0.0) -> Bounds:
        """Enclose the belief of an attacker after the best test with this false positive rate.

        The attacker believed with probability ``prior`` that the person is in the data, and the
        test says so. At a rate of 0 this is the limit of ever rarer, ever surer accusations:
        certainty wherever some delta is positive at every epsilon.
        """
        chance = check_real("prior", prior, low=0.0, high=1.0)
        alarm = check_real("false_positive", false_positive, low=0.0, high=1.0)
        if chance in (0.0, 1.0):
            return Bounds.exactly(chance)
        with working_precision(128):
            if alarm == 0.0:
                odds = self._largest_odds()
            else:
                missed = self.false_negative_bounds(false_positive=alarm)
                odds = (1 - ball_of(missed)) / alarm
            if odds is None:
                return Bounds.exactly(1.0)
            return outward(odds / (odds + (1 - arb(chance)) / chance)).clipped(0.0, 1.0)

    def _largest_odds(self) -> arb | None:
        largest = self.profile.epsilon_bounds(delta=0.0)
        return None if math.isinf(largest.upper) else ball_of(largest).exp()

    def to_table(self) -> TextTable:
        """What the best attack reaches: its advantage, what it misses, and what it makes believe.

        >>> from quaestor import PureDP, compose
        >>> print(compose(PureDP(epsilon=1.0)).tradeoff().to_markdown())
        The best attack
        <BLANKLINE>
        | what an attacker reaches | bound |
        | --- | ---: |
        | advantage over guessing | 0.4622 |
        | missed detections at 1% false alarms | 0.9728 |
        | missed detections at 5% false alarms | 0.864 |
        | missed detections at 10% false alarms | 0.7281 |
        | belief of an attacker at 1% false alarms (before: 50%) | 0.7311 |
        <BLANKLINE>
        """
        headings = headed("what an attacker reaches", "#bound")
        return TextTable(title="The best attack", headings=headings, rows=list(self.attack_rows()))

    def attack_rows(self) -> Iterator[tuple[str, str]]:
        """What the best attack reaches, in words and as numbers rounded to the safe side."""
        yield "advantage over guessing", rounded_up(self.advantage().upper)
        for alarm, missed in zip(_ALARMS, self.false_negative(false_positive=_ALARMS), strict=True):
            yield f"missed detections at {alarm:.0%} false alarms", rounded_down(float(missed))
        belief = self.posterior(prior=0.5, false_positive=0.01)
        yield "belief of an attacker at 1% false alarms (before: 50%)", rounded_up(belief)

    def plot(self, *, label: str = "", log: bool = False, axes: Any = None) -> Any:
        """Draw the region's boundary: false alarms against missed detections.

        ``log`` has logarithmic axes, which show rare errors. Returns matplotlib's axes: those that
        are given, onto which several regions may go, or new ones.

        >>> import quaestor as q
        >>> axes = q.compose(q.PureDP(epsilon=1.0)).tradeoff().plot(label="one release")
        >>> axes.get_xlabel()
        'missed detection $P_{MD}$'
        """
        from quaestor.figures.region import plot_next_region
        from quaestor.figures.style import given_or_new

        with given_or_new(axes) as drawn:
            plot_next_region(drawn, self.vertices(at_most=_DRAWN), label=label, log=log)
            return drawn

    def _outer_polygon(self, supports: Sequence[float]) -> tuple[Vertex, ...]:
        """Intersect supporting lines, steepest first, down to the diagonal; then mirror."""
        lines: list[_Line] = []
        curve = self.profile.shared()
        for epsilon in sorted(supports, reverse=True):
            height = 1.0 - curve.delta_bounds(epsilon=epsilon).upper
            line = _Line(height, math.exp(min(epsilon, 700.0)))
            while len(lines) > 1 and lines[-2].meets(lines[-1]) >= lines[-2].meets(line):
                lines.pop()
            if height > 0.0 and (not lines or height < lines[-1].height):
                lines.append(line)
        if not lines:
            return (Vertex(0.0, 0.0),)
        middle = max(line.height / (1 + line.steepness) for line in lines)
        crossings = [(one.meets(two), one) for one, two in pairwise(lines)]
        half = [(0.0, lines[0].height)]
        half += [(x, line.height - line.steepness * x) for x, line in crossings if x < middle]
        half = [(x, y) for x, y in half if y > middle]
        path = [*half, (middle, middle), *((y, x) for x, y in reversed(half))]
        return tuple(Vertex(x * (1 - 1e-15), y * (1 - 1e-15)) for x, y in path)


class _Boundary:
    """The lower boundary of a region, for one false positive rate after the other."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    @cached_property
    def _shared(self) -> Profile:
        """Every search asks the curve at many points, and the next search near the same ones."""
        return self._profile.shared()

    @cached_property
    def _pairs(self) -> tuple[WorldPair, ...]:
        return self._shared.world_pairs()

    def at(self, alarm: float) -> Bounds:
        """Enclose the false negatives of the best test with this false positive rate."""
        exact = self._profile.exact_false_negative(alarm)
        return self._searched(alarm) if exact is None else exact

    def _searched(self, alarm: float) -> Bounds:
        """The best test of any pair of worlds; if not all are known, no lower than the hull."""
        whole = WorldPair(self._shared, self._shared)
        nothing = Bounds(lower=0.0, upper=math.nextafter(1.0 - alarm, 1.0))  # a test that guesses
        found = [false_negative(pair, alarm) for pair in self._pairs]
        upper = min((bounds.upper for bounds in found), default=nothing.upper)
        if self._profile.pairs_suffice:
            return Bounds(lower=min(bounds.lower for bounds in found), upper=upper)
        hull = false_negative(whole, alarm).lower
        return Bounds(lower=min(hull, upper), upper=upper)


class _Line(NamedTuple):
    """The supporting line ``height - steepness * x``."""

    height: float
    steepness: float

    def meets(self, flatter: _Line) -> float:
        """Where a flatter line crosses this one from below."""
        gap = self.steepness - flatter.steepness
        return (self.height - flatter.height) / gap if gap > 0 else math.inf
