"""Everything that one certified curve answers: numbers, arrays, tables and pictures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, overload

from quaestor.accounting.numerics.digits import TO_TYPE, rounded_up
from quaestor.accounting.numerics.many_values import at_each, is_many
from quaestor.accounting.releases.base import check_real
from quaestor.accounting.tradeoff import Tradeoff
from quaestor.documents.presented import Presented
from quaestor.documents.text_table import TextTable, headed

if TYPE_CHECKING:
    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.numerics.many_values import FloatArray, ManyFloats

__all__ = ["CurveAnswers"]

_DELTAS = (0.0, 1e-9, 1e-6, 1e-3)  # of the table
_DRAWN = 160
_LEAST_DRAWN = 1e-9


class CurveAnswers(Presented):
    """Everything that one certified curve answers, for results that have such a curve."""

    @property
    def _curve(self) -> Profile:
        raise NotImplementedError

    @overload
    def epsilon(self, *, delta: float) -> float: ...
    @overload
    def epsilon(self, *, delta: ManyFloats) -> FloatArray: ...
    def epsilon(self, *, delta: Any) -> Any:
        """The smallest epsilon known to be true at ``delta``: a sound upper bound.

        Infinite only where no finite epsilon is true. Of an array of deltas, an array of epsilons:
        each is certified, and they cost less than one by one.

        >>> from quaestor import Laplace, compose
        >>> spent = compose(Laplace(scale=20.0) * 500)
        >>> spent.epsilon(delta=[1e-9, 1e-6, 1e-3]).round(2)
        array([6.87, 5.47, 3.56])
        """
        if not is_many(delta):
            return self._curve.upper_ends().epsilon_bounds(delta=checked_delta(delta)).upper
        curve = self._curve.shared()
        return at_each(
            "delta", delta, lambda one: curve.epsilon_bounds(delta=checked_delta(one)).upper
        )

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the smallest epsilon that is true at ``delta``, both ways."""
        return self._curve.epsilon_bounds(delta=checked_delta(delta))

    @overload
    def delta(self, *, epsilon: float) -> float: ...
    @overload
    def delta(self, *, epsilon: ManyFloats) -> FloatArray: ...
    def delta(self, *, epsilon: Any) -> Any:
        """The smallest delta known to be true at ``epsilon``: a sound upper bound.

        Of an array of epsilons, an array of deltas.

        >>> from quaestor import PureDP, compose
        >>> compose(PureDP(epsilon=1.0) * 3).delta(epsilon=[0.0, 1.0, 3.0]).round(3)
        array([0.644, 0.338, 0.   ])
        """
        if not is_many(epsilon):
            return self._curve.upper_ends().delta_bounds(epsilon=checked_epsilon(epsilon)).upper
        curve = self._curve.shared()
        return at_each(
            "epsilon", epsilon, lambda one: curve.delta_bounds(epsilon=checked_epsilon(one)).upper
        )

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the smallest delta that is true at ``epsilon``, both ways."""
        return self._curve.delta_bounds(epsilon=checked_epsilon(epsilon))

    def tradeoff(self) -> Tradeoff:
        """The privacy region: what any attacker's test can reach."""
        return Tradeoff(self._curve)

    def advantage(self) -> Bounds:
        """Enclose the best attack advantage (the total variation distance)."""
        return self.tradeoff().advantage()

    def _label(self) -> str:
        """What a curve is called in a picture."""
        return repr(self)

    def _facts(self) -> list[str]:
        """What stands below the table."""
        return [f"best attack advantage {rounded_up(self.advantage().upper, digits=TO_TYPE)}"]

    def to_table(self) -> TextTable:
        r"""Epsilon at a few deltas, with the best attack advantage below.

        >>> from quaestor import PureDP, compose
        >>> print(compose(PureDP(epsilon=0.25) * 8).to_markdown())
        compose(PureDP(epsilon=0.25) \* 8)
        <BLANKLINE>
        | delta | epsilon |
        | ---: | ---: |
        | 0.0 | 2 |
        | 1e-09 | 2 |
        | 1e-06 | 1.9999 |
        | 0.001 | 1.894379 |
        <BLANKLINE>
        - best attack advantage 0.2678547
        - theorem: optimal
        <BLANKLINE>
        """
        epsilons = self.epsilon(delta=_DELTAS)
        rows = [
            [
                repr(delta),
                "no finite value" if math.isinf(epsilon) else rounded_up(epsilon, digits=TO_TYPE),
            ]
            for delta, epsilon in zip(_DELTAS, epsilons.tolist(), strict=True)
        ]
        return TextTable(
            title=repr(self),
            headings=headed("#delta", "#epsilon"),
            rows=rows,
            notes=self._facts(),
        )

    def plot(
        self, *, delta: float | None = None, label: str | None = None, axes: Any = None
    ) -> Any:
        """Draw the curve: the certified delta at every epsilon, on a logarithmic axis.

        ``delta`` marks the epsilon at one delta. Returns matplotlib's axes: those that are given,
        onto which several curves may go, or new ones. ``tradeoff().plot()`` draws the region.

        >>> import quaestor as q
        >>> axes = q.compose(q.Gaussian(sigma=20.0) * 100).plot(delta=1e-6)
        >>> axes.get_yscale()
        'log'
        """
        from quaestor.figures.curves import CurvePoint, plot_curve
        from quaestor.figures.style import given_or_new

        curve = self._curve.shared()
        marked = None if delta is None else (self.epsilon(delta=delta), delta)
        with given_or_new(axes) as drawn:
            told = curve.delta_bounds(epsilon=math.inf).upper
            least = min(told + max(told / 1000, _LEAST_DRAWN), 1.0)
            ends = [curve.epsilon_bounds(delta=least).upper, *(marked or ())[:1]]
            end = max((each for each in ends if math.isfinite(each)), default=0.0) or 1.0
            places = [end * i / _DRAWN for i in range(_DRAWN + 1)]
            bounds = [(place, curve.delta_bounds(epsilon=place)) for place in places]
            points = [CurvePoint(place, each.lower, each.upper) for place, each in bounds]
            words = self._label() if label is None else label
            plot_curve(drawn, points, label=words, marked=marked)
            return drawn


def checked_delta(delta: object) -> float:
    """A delta, or an error that says so."""
    return check_real("delta", delta, low=0.0, high=1.0)


def checked_epsilon(epsilon: object) -> float:
    """An epsilon, or an error that says so."""
    return check_real("epsilon", epsilon, low=0.0, high=math.inf)
