"""``+`` in Python is ``+`` in expressions: releases that are made together."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import quaestor as q
from quaestor import InvalidParameter
from quaestor.audit import Claim
from quaestor.ledger import AccountDefinition, Ledger

ONE, TWO, THREE = q.PureDP(epsilon=0.5), q.Gaussian(sigma=20.0) * 3, q.Laplace(scale=4.0)


def test_a_sum_has_its_terms_in_their_order_however_it_is_grouped() -> None:
    assert tuple(ONE + TWO + THREE) == (ONE, TWO, THREE)
    assert ONE + (TWO + THREE) == (ONE + TWO) + THREE == q.ReleaseSum((ONE, TWO, THREE))
    assert ONE + TWO != TWO + ONE
    assert len(ONE + ONE) == 2
    assert (ONE + TWO)[1] == TWO


def test_a_sum_is_a_value() -> None:
    total = ONE + TWO
    assert len({total, ONE + TWO}) == 1
    assert pickle.loads(pickle.dumps(total)) == total  # noqa: S301  # our own bytes
    with pytest.raises(AttributeError):
        total.releases = ()  # type: ignore[misc]


def test_what_is_written_is_read_back() -> None:
    total = ONE * 7 + TWO + q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=0.01) * 10
    assert q.parse_sum(str(total)) == total
    assert q.ReleaseSum.from_json(total.to_json()) == total


def test_a_sum_costs_what_its_releases_cost() -> None:
    apart = q.compose(ONE, TWO, THREE)
    for together in (q.compose(ONE + TWO + THREE), q.compose(ONE, TWO + THREE)):
        assert together.releases == apart.releases
        assert together.epsilon(delta=1e-6) == apart.epsilon(delta=1e-6)
    assert q.compose(ONE).then(TWO + THREE).releases == apart.releases
    assert q.compose_nonadaptive(ONE + TWO).releases == (ONE, TWO)
    assert q.compose((ONE + TWO) * 4).releases == (ONE * 4, TWO * 4)


def test_planning_and_claims_take_sums() -> None:
    sigma = q.calibrate(lambda sigma: q.Gaussian(sigma=sigma) * 10 + ONE, epsilon=1.0, delta=1e-6)
    assert q.compose(q.Gaussian(sigma=sigma) * 10 + ONE).epsilon(delta=1e-6) <= 1.0
    quarter = q.PureDP(epsilon=0.25)
    assert q.largest_count(quarter + quarter * 2, epsilon=3.0, delta=0.0) == 4
    across = q.compose_across({"north": ONE + TWO, "south": [THREE]})
    assert across.epsilon(delta=1e-6) == q.compose_across(
        {"north": [ONE, TWO], "south": [THREE]}
    ).epsilon(delta=1e-6)
    assert Claim.of(ONE + TWO).composition.releases == (ONE, TWO)


def test_a_charge_takes_a_sum(tmp_path: Any) -> None:
    with Ledger(str(tmp_path / "ledger.db")) as ledger:
        account = ledger.open_account(
            AccountDefinition(name="trial", epsilon=2.0, delta=1e-6, datasets=("people",))
        )
        apart, together = account.price([ONE, TWO]), account.price(ONE + TWO)
        assert apart.readings == together.readings
        with account.reserve(ONE + TWO) as charge:
            charge.drawing()
            charge.release("42")
        (entry,) = account.entries()
        assert entry.releases == (ONE, TWO)


def test_sums_of_promises_about_different_neighbours_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="neighbours"):
        q.compose(
            q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=0.1)
            + q.PoissonSampledReplaceOne(release=q.Gaussian(sigma=1.0), rate=0.1)
        )


@pytest.mark.parametrize("other", [1, 0.5, "PureDP(epsilon=1)", None, [ONE], (ONE,), True])
def test_nothing_but_releases_is_added(other: Any) -> None:
    with pytest.raises(TypeError):
        ONE + other
    with pytest.raises(TypeError):
        other + ONE
    with pytest.raises(TypeError):
        ONE + ONE + other
    with pytest.raises(InvalidParameter):
        q.ReleaseSum((ONE, other))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"type": "ReleaseSum"}',
        '{"type": "PureDP", "epsilon": 1.0}',
        '{"type": "ReleaseSum", "releases": [], "more": 1}',
        '{"type": "ReleaseSum", "releases": [1]}',
        '{"type": "ReleaseSum", "releases": [{"type": "PureDP", "epsilon": NaN}]}',
        '{"type": "ReleaseSum", "releases": [], "releases": []}',
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        q.ReleaseSum.from_json(text)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2", None])
def test_a_sum_is_repeated_a_whole_number_of_times(count: Any) -> None:
    with pytest.raises(InvalidParameter):
        (ONE + TWO) * count
