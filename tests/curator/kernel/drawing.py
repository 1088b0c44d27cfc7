"""What is drawn: noise of the law that is charged, for every kind of draw and for shown cells only.

Laws are those of the literature, computed here; each test fails by chance once in a billion runs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from quaestor.accounting import releases
from quaestor.curator.kernel.cut_measures import Dropped, Excess
from quaestor.curator.kernel.draws import (
    NoisyMeasure,
    NoisyQuantile,
    NoisyReach,
    NoisyTop,
    NoisyUnits,
    ShownGroups,
)
from quaestor.curator.kernel.figures import Exact, drawn
from quaestor.curator.kernel.measurement import Cells, Measurement
from quaestor.curator.kernel.measures import Chosen, Reach, RowCount, Units, ValueCounts
from quaestor.mechanisms import (
    CountedQuantile,
    DiscreteGaussian,
    Geometric,
    OptimalSelection,
    PartitionSelection,
    QuantileReach,
    TopK,
)
from tests.curator.kernel.pointed import PEOPLE, column, declared, measured, private

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.accounting.releases import Release

__all__ = ["wrongs"]

_TIMES = 400
_HISTOGRAM = ValueCounts(operand=column("g"), low=0, high=9, step=1.0, rows=1)


def _about(seen: int, chance: float) -> bool:
    """Whether something of that chance may have been seen so often: within 6.5 deviations."""
    off = math.sqrt(_TIMES * chance * (1 - chance))
    return abs(seen - _TIMES * chance) <= 6.5 * off + 1


def _noise() -> Iterator[str]:
    # P(0) is (1 - q) / (1 + q) with q = 1/e, and 1 / (the sum of exp(-k**2 / 2) over all k).
    geometric, gaussian = math.tanh(0.5), 1 / sum(math.exp(-k * k / 2) for k in range(-30, 31))
    for mechanism, chance in (
        (Geometric(scale=1.0, sensitivity=1), geometric),
        (DiscreteGaussian(sigma=1.0, sensitivity=1, coordinates=1), gaussian),
    ):
        noisy = NoisyMeasure(measure=RowCount(rows=1), mechanism=mechanism, spread=1)
        figures = noisy.draw([10] * _TIMES).tolist()
        if not _about(figures.count(10), chance):
            yield f"{type(mechanism).__name__}: {figures.count(10)} of {_TIMES} without noise"
        coarse = NoisyMeasure(measure=RowCount(rows=4), mechanism=mechanism, spread=1, grain=4)
        figures = coarse.draw([40] * _TIMES).tolist()
        if not _about(figures.count(40), chance) or any(x % 4 for x in figures):
            yield f"{type(mechanism).__name__}: grains have another noise"


def _choices() -> Iterator[str]:
    selection = PartitionSelection(scale=1.0, threshold=9, contributions=1)
    units = NoisyUnits(measure=Units(), mechanism=selection)
    shown, noisy = units.draw([9] * _TIMES)
    # P(noise >= 0) = 1 / (1 + q), P(noise >= 8) is q**8 times that.
    if not _about(len(shown), 1 / (1 + math.exp(-1))) or len(set(noisy.tolist())) < 2:
        yield f"{len(shown)} of {_TIMES} groups at the threshold are shown"
    if len(units.draw([1] * _TIMES)[0]) > 20:
        yield "groups of one person are shown"
    some = OptimalSelection(epsilon=1.0, delta=0.1, contributions=3)
    groups = ShownGroups(measure=Units(), mechanism=some)
    for people, chance in ((1, 0.1), (2, 0.1 * (1 + math.e)), (0, 0.0)):
        seen = groups.draw([people] * _TIMES).tolist()
        if not _about(len(seen), chance) or seen != sorted(set(seen)):
            yield f"{len(seen)} of {_TIMES} groups of {people} are shown"
    if groups.count != 3 or groups.epsilon != 3 or groups.one.delta != 0.1:
        yield f"a choice of three groups costs {groups.one}, {groups.count} times"
    top = NoisyTop(
        measure=Units(), mechanism=TopK(epsilon=2.0, count=1, sensitivity=1.0, monotonic=False)
    )
    firsts = sum(top.draw([1, 0]) == [0] for _ in range(_TIMES))
    if not _about(firsts, math.e / (1 + math.e)):
        yield f"the larger of two groups is chosen {firsts} times of {_TIMES}"
    (quantile,) = measured(PEOPLE, _HISTOGRAM).draws
    assert isinstance(quantile, NoisyQuantile)
    if len(set(quantile.draw([{5: 1}] * _TIMES).tolist())) < 5:
        yield "quantiles of one row have no noise"
    reach = _reach(quantile)
    # g is 1/2 for the widths 0 to 4, and none of them is more than t - 1/2 behind the last
    if len(set(reach.draw([{5: 1}] * _TIMES, [5] * _TIMES).tolist())) < 4:
        yield "intervals of quantiles of one row have no noise"


def _reach(quantile: NoisyQuantile) -> NoisyReach:
    return NoisyReach(
        measure=Reach(chosen=quantile.measure),
        mechanism=QuantileReach(
            probability=0.5, low=0, high=9, epsilon=1.0, rows=1, confidence=0.05
        ),
        spread=quantile.spread,
    )


def _count(release: Release) -> int:
    return release.count if isinstance(release, releases.Repeated) else 1


def _prices() -> Iterator[str]:
    keys = (declared("c0", "text", "a", "b", "c", "d"),)
    ranked = measured(PEOPLE, _HISTOGRAM, keys=keys, groups=3)
    if sum(map(_count, ranked.releases)) != 3:
        yield f"a quantile of three groups costs {ranked.releases}"
    hidden = measured(PEOPLE, RowCount(rows=1), _HISTOGRAM, keys=(private("c0", "text"),), groups=3)
    if sum(map(_count, hidden.releases)) != 9 or len(hidden.releases) != 3:
        yield f"private groups, and two draws of three of them, cost {hidden.releases}"
    best = NoisyTop(measure=Units(), mechanism=TopK(epsilon=1.0, count=3, sensitivity=1.0))
    quantile = NoisyQuantile(
        measure=Chosen(histogram=_HISTOGRAM, probability=0.5),
        mechanism=CountedQuantile(probability=0.5, low=0, high=9, epsilon=1.0, rows=1),
        spread=2,
    )
    chosen = Measurement(
        dataset="d",
        rows=PEOPLE,
        cells=Cells(keys=keys, groups=2),
        choice=best,
        draws=(quantile,),
    )
    if sum(map(_count, chosen.releases)) != 5:
        yield f"a choice of three groups and quantiles of two cost {chosen.releases}"
    with_intervals = replace(chosen, draws=(quantile, _reach(quantile)))
    if sum(map(_count, with_intervals.releases)) != 7:
        yield f"the same with intervals costs {with_intervals.releases}"


def _overall() -> Iterator[str]:
    """A number for the whole question has noise, costs one release, and is of no cell."""
    keys = (declared("c0", "text", "a", "b", "c", "d"),)
    dropped = Dropped(outer=RowCount(rows=9), most=1)
    made = measured(PEOPLE, dropped, keys=keys, groups=3)
    if sum(map(_count, made.releases)) != 1:
        yield f"one number for all cells costs {made.releases}"
    exact = Exact(groups=None, units=[5] * 4, values={dropped: [10]})
    found = [drawn(made, exact).figures[made.draws[0]].tolist() for _ in range(_TIMES)]
    seen = sum(each == [10] for each in found)
    if not _about(seen, math.tanh(0.5)) or any(len(each) != 1 for each in found):
        yield f"one number for all cells: {seen} of {_TIMES} without noise"
    excess = Excess(inner=RowCount(rows=1), outer=RowCount(rows=9), low=-9, high=8)
    made = measured(PEOPLE, excess, keys=keys, groups=3)
    if sum(map(_count, made.releases)) != 3 or excess.sensitivity != 9:
        yield f"what is cut of three cells costs {made.releases}"


def _shown() -> Iterator[str]:
    """Of private groups, those that are not shown have no figures, and the others their own."""
    made = measured(PEOPLE, RowCount(rows=1), keys=(private("k0", "integer"),))
    exact = Exact(
        groups=[(1,), (2,), (3,)],
        units=[1, 1000, 1],
        values={Units(): [1, 1000, 1], RowCount(rows=1): [5, 3000, 7]},
    )
    released = drawn(made, exact)
    (figures,) = (released.figures[draw].tolist() for draw in made.draws)
    near = len(figures) == 1 and abs(figures[0] - 3000) < 60
    if (released.places.tolist(), released.groups) == ([1], [(2,)]) and not near:
        yield f"the figures of one shown group are {figures}"
    if released.places.tolist() not in ([1], [0, 1], [1, 2]):
        yield f"the groups that are shown are {released.places.tolist()}"
    some = OptimalSelection(epsilon=1.0, delta=1e-9)
    released = drawn(replace(made, choice=ShownGroups(measure=Units(), mechanism=some)), exact)
    if released.places.tolist() != [1] or released.groups != [(2,)] or len(released.figures) != 1:
        yield f"of groups without a count, {released.places.tolist()} are shown"


def wrongs() -> list[str]:
    """What is drawn or charged otherwise than it should be."""
    return [*_noise(), *_choices(), *_prices(), *_overall(), *_shown()]
