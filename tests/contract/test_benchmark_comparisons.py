"""The benchmark compares at equal tightness, and says why where it is slower than wanted."""

from __future__ import annotations

import pytest

from benchmarks.case import Case, Group
from benchmarks.cases import CASES
from benchmarks.comparison import Comparison
from benchmarks.isolation import Measured
from benchmarks.mechanisms import BlackBox
from benchmarks.peers import Answer
from benchmarks.speed import slower_than_wanted, speed_targets


def measured(upper: float, lower: float | None = None, *, warm: float) -> Measured:
    """An answer that took so long."""
    answer = Answer(upper=upper, lower=lower)
    return Measured(answer=answer, first=warm, warm=warm, repeats=3, memory=1)


CASE = Case(
    name="two",
    groups=(Group(mechanism=BlackBox(epsilon=1.0), count=2),),
    delta=1e-6,
    why_slow="it is only an example",
)
OURS = measured(1.0, 0.999999, warm=1.0)


def row(theirs: Measured, alike: Measured | None = None) -> Comparison:
    """A row about epsilon."""
    return Comparison(
        case=CASE, question="epsilon", peer="peer", ours=OURS, theirs=theirs, alike=alike
    )


def test_a_peer_is_compared_at_the_width_that_it_reaches() -> None:
    theirs = measured(1.0005, warm=0.1)
    assert row(theirs).peers_width == pytest.approx(5e-4)
    assert row(theirs).equal_ratio == row(theirs).ratio == 0.1
    quick = row(theirs, measured(1.0002, 0.9999, warm=0.01))
    assert (quick.ratio, quick.equal_ratio) == (0.1, 10.0)


def test_an_answer_that_missed_the_width_does_not_count() -> None:
    theirs = measured(1.0005, warm=0.1)
    assert row(theirs, measured(1.001, 0.9, warm=0.01)).equal_ratio == 0.1


def test_a_peer_within_our_interval_is_compared_with_the_usual_answer() -> None:
    assert row(measured(0.9999995, warm=0.1)).peers_width is None


def test_what_is_slower_than_wanted_is_listed_with_its_reason() -> None:
    (line,) = slower_than_wanted([row(measured(1.0005, warm=0.1))])
    assert line == "two, epsilon at delta 1e-6: 0.1 times; it is only an example"
    assert slower_than_wanted([row(measured(1.0005, warm=50.0))]) == ()
    assert speed_targets([row(measured(1.0005, warm=0.1))])[0].met is False


def test_cases_have_names_of_their_own() -> None:
    asked = [(case.name, case.delta) for case in CASES]
    assert len(set(asked)) == len(asked)
