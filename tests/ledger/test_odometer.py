"""The odometer: quick, incremental, and to the last digit what the slow way says."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.accounting.filters import MomentMeter
from quaestor.accounting.membership.facts import AtMost, Exclusive, Fact
from quaestor.accounting.releases import (
    ApproxDP,
    BoundedRange,
    DiscreteGaussian,
    Gaussian,
    GaussianDP,
    Geometric,
    Laplace,
    PoissonSampled,
    PureDP,
    RandomizedResponse,
    Release,
    Repeated,
    ZeroConcentratedDP,
)
from quaestor.ledger import AccountDefinition, Ledger
from quaestor.ledger.price import Request
from quaestor.ledger.totals.odometer import KnownCosts, read_odometer
from tests.ledger.places import definition
from tests.oracles.odometer import slow_odometer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from quaestor.ledger import Account

DATASETS = ("north", "south", "west")
SIZES = st.floats(-2.0, 6.0).map(lambda power: 10.0**power)
SINGLES = st.one_of(
    SIZES.map(lambda scale: Laplace(scale=scale)),
    SIZES.map(lambda sigma: Gaussian(sigma=sigma)),
    st.tuples(SIZES, st.integers(1, 9)).map(lambda g: Geometric(scale=g[0], sensitivity=g[1])),
    st.floats(0.5, 1e4).map(lambda sigma: DiscreteGaussian(sigma=sigma)),
    st.floats(0.0, 3.0).map(lambda epsilon: PureDP(epsilon=epsilon)),
    st.floats(1e-9, 3.0).map(lambda epsilon: RandomizedResponse(epsilon=epsilon)),
    st.floats(0.0, 3.0).map(lambda epsilon: ApproxDP(epsilon=epsilon, delta=1e-9)),
    st.floats(1e-9, 3.0).map(lambda epsilon: BoundedRange(epsilon=epsilon)),
    st.floats(0.0, 2.0).map(lambda mu: GaussianDP(mu=mu)),
    st.floats(0.0, 1.0).map(lambda rho: ZeroConcentratedDP(rho=rho)),
    st.floats(2.0, 9.0).map(lambda scale: PoissonSampled(release=Laplace(scale=scale), rate=0.125)),
)
RELEASES = st.tuples(SINGLES, st.integers(1, 50)).map(lambda pair: pair[0] * pair[1])
CHARGES = st.tuples(
    st.lists(RELEASES, min_size=1, max_size=3), st.sampled_from(DATASETS), st.integers(1, 200)
).map(lambda c: (Request(releases=tuple(c[0]), dataset=c[1]), c[2]))


@settings(max_examples=40, deadline=None)
@given(
    charged=st.lists(CHARGES, max_size=8),
    membership=st.sampled_from([None, AtMost(1), AtMost(2), Exclusive("north", "south")]),
    neighbours=st.sampled_from(["add_remove", "replace", "replace_record"]),
    delta=st.sampled_from([0.0, 1e-9, 1e-6, 0.01]),
)
def test_a_quick_reading_is_the_slow_one_to_the_last_digit(
    charged: list[tuple[Request, int]], membership: Fact | None, neighbours: str, delta: float
) -> None:
    if neighbours == "replace_record":  # where others cannot be charged
        charged = [(request, count) for request, count in charged if _replaceable(request)]
    account = AccountDefinition(
        name="trial",
        epsilon=1.0,
        delta=1e-6,
        datasets=DATASETS,
        membership=membership,
        neighbours=neighbours,
    )
    costs = KnownCosts()
    slow = slow_odometer(account, charged, delta=delta)
    for _ in range(2):  # with costs that are not known, and with costs that are
        assert read_odometer(account, charged, delta=delta, costs=costs).epsilon == slow


def _replaceable(request: Request) -> bool:
    unknown = (BoundedRange, PoissonSampled)
    singles = [r.release if isinstance(r, Repeated) else r for r in request.releases]
    return not any(isinstance(single, unknown) for single in singles)


@settings(max_examples=40, deadline=None)
@given(
    releases=st.lists(SINGLES, max_size=30),
    order=st.floats(-6.0, 5.0).map(lambda power: 10.0**power),
)
def test_many_moments_at_once_are_those_of_each(releases: Sequence[Release], order: float) -> None:
    assert MomentMeter(order=order, limit=Fraction(1)).costs_of(releases) == [
        each.log_moment(order) for each in releases
    ]


def readings(ledger: Ledger, account: Account) -> list[float]:
    """What an account that has read before says, and what one says that has not."""
    asked = (account, ledger.account(account.name))
    return [each.odometer(delta=1e-6).epsilon for each in asked]


def test_an_odometer_that_was_read_before_says_what_a_new_one_says(
    ledger: Ledger, location: str
) -> None:
    account = ledger.open_account(definition(epsilon=100.0))
    with Ledger(location) as elsewhere:
        other = elsewhere.account(account.name)
        for step in range(1, 12):
            for payer in (account, other):
                with payer.reserve(PureDP(epsilon=step / 64)) as charge:
                    if step == 7:
                        charge.void("the engine was unreachable")
            again, new = readings(ledger, account)
            assert again == new
    assert new == 2 * (sum(range(1, 12)) - 7) / 64


def test_an_odometer_notices_a_long_absence(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quaestor.ledger.journal.charge_counts._LONGEST_TAIL", 3)
    account = ledger.open_account(definition(epsilon=100.0))
    assert account.odometer(delta=1e-6).epsilon == 0.0
    for _ in range(8):
        account.reserve(PureDP(epsilon=0.125))
    assert readings(ledger, account) == [1.0, 1.0]
