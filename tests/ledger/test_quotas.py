"""Quotas: what one analyst sees of an account never depends on what others have charged.

The attack: bob asks about a secret, and charges a little more if the answer is yes. Ann, whose
quota is a fraction of bob's, reads the account's total for free, and so learns bob's answer. No
quota can guarantee anything against analysts who act on each other's answers (arXiv 2506.05290v2);
what can be done is to show an analyst nothing but the analyst's own quota.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.accounting.filters.base import basic_filter
from quaestor.accounting.membership.facts import AtMost
from quaestor.accounting.releases import ApproxDP, Gaussian, Laplace, PureDP
from quaestor.errors import BudgetExceeded, QuaestorError
from quaestor.ledger import (
    AccountDefinition,
    Dashboard,
    Ledger,
    Open,
    Planned,
    Quota,
    Share,
    query_digest,
)
from tests.ledger.places import definition, remaining_epsilon, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quaestor.accounting.releases import Release
    from quaestor.ledger import Account
    from quaestor.ledger.policies.base import Policy

SECRET = PureDP(epsilon=1.5)  # bob's answer: the truth with odds of e^1.5
SIGNAL = PureDP(epsilon=2**-6)  # what bob charges besides, if the answer is yes
SIZES = tuple(PureDP(epsilon=e) for e in (2**-10, 2**-6, 0.0625, 0.1, 0.125, 0.5, 1.5, 3.0))


def watched(ledger: Ledger, name: str = "watched") -> Account:
    """Two for all; a tenth for ann, and bob may use all of it."""
    quotas = (share("ann", 0.1), share("bob", 2.0))
    return ledger.open_account(definition(name, epsilon=2.0, shares=quotas, beside=True))


def charge(account: Account, release: Release, analyst: str, **more: Any) -> int:
    """Charge and release; the receipt."""
    with account.reserve(release, analyst=analyst, **more) as charged:
        charged.release("done")
    return charged.receipt


def attempt(account: Account, release: Release, analyst: str, **more: Any) -> dict[str, Any]:
    """All that a charge tells its analyst: the receipt, or everything that the refusal says."""
    try:
        return {"receipt": charge(account, release, analyst, **more)}
    except QuaestorError as error:
        return {"type": type(error).__name__, "message": str(error), **error.fields()}


def seen(
    account: Account, analyst: str, releases: Iterable[Release], *, query: str = ""
) -> list[Any]:
    """Everything that an analyst can see without a charge."""
    found: list[Any] = [account.words(), account.remaining(analyst=analyst)]
    for dataset in account.definition.datasets:
        found.append(account.remaining(dataset=dataset, analyst=analyst))
        for release in releases:
            try:
                price = account.price(release, dataset=dataset, analyst=analyst, query=query)
            except QuaestorError as error:  # a plan that does not declare it
                found.append((str(error), error.fields()))
            else:
                found += [price, price.to_dict(), [reading.words() for reading in price.readings]]
    return found


def without_figures(account: Account) -> dict[str, Any]:
    """What a refusal for lack of the account's total says: always this, and nothing more."""
    fields = dict.fromkeys(("requested", "remaining", "difference", "would_fit", "left"))
    message = f"account {account.name!r} has too little budget left. Nothing was charged"
    named = {"type": "BudgetExceeded", "message": message, "account": account.name}
    return {**named, "meter": "total", **fields}


# The attack.


def test_an_analyst_does_not_see_what_others_were_answered(ledger: Ledger) -> None:
    """Before quotas hid the total, each of these told ann bob's answer, at no cost."""
    views = []
    for answer in ("no", "yes"):
        account = watched(ledger, answer)
        charge(account, SECRET, "bob")
        if answer == "yes":
            charge(account, SIGNAL, "bob")
        look = [*seen(account, "ann", SIZES), attempt(account, PureDP(epsilon=0.5), "ann")]
        look += [attempt(account, PureDP(epsilon=0.0625), "ann")]
        look += seen(account, "ann", SIZES)
        views.append(str(look).replace(repr(answer), "NAME"))
    assert views[0] == views[1]


@pytest.mark.parametrize("left", [0.0, 2**-10, 2**-6, 0.046875])
def test_a_refusal_for_lack_of_the_total_does_not_say_how_much_is_lacking(
    ledger: Ledger, left: float
) -> None:
    account = watched(ledger)
    charge(account, PureDP(epsilon=2.0 - left), "bob")
    assert remaining_epsilon(account) == left
    before, asked = list(account.entries()), PureDP(epsilon=0.0625)
    assert account.price(asked, analyst="ann").fits  # the quota: nothing is said of the total
    assert attempt(account, asked, "ann") == without_figures(account)
    assert list(account.entries()) == before


def test_a_quota_that_is_too_small_is_the_reason_given_whatever_the_total_is(
    ledger: Ledger,
) -> None:
    account = watched(ledger)
    rich = attempt(account, PureDP(epsilon=0.125), "ann")
    charge(account, PureDP(epsilon=1.9375), "bob")
    poor = attempt(account, PureDP(epsilon=0.125), "ann")
    assert rich == poor
    assert (rich["meter"], rich["would_fit"]) == ("epsilon of ann's quota", "PureDP(epsilon=0.1)")


def test_of_a_history_in_several_datasets_the_quota_is_looked_at_first(ledger: Ledger) -> None:
    """Its first part lacks the total, its second the quota: the quota is told, as it always is."""
    quotas = (share("ann", 0.5), share("bob", 2.0))
    told = []
    for name, others in (("rich", 0.125), ("poor", 1.875)):
        made = definition(name, epsilon=2.0, datasets=("a", "b"), shares=quotas, beside=True)
        account = ledger.open_account(made)
        charge(account, PureDP(epsilon=others), "bob", dataset="a")
        history = {"a": [PureDP(epsilon=0.25)], "b": [PureDP(epsilon=0.5)]}
        with pytest.raises(BudgetExceeded) as refused:
            account.import_history(history, purpose="before", analyst="ann")
        told.append(str({"message": str(refused.value), **refused.value.fields()}))
    assert told[0].replace("rich", "poor") == told[1]
    assert "epsilon of ann's quota" in told[0]


def test_receipts_count_the_charges_of_their_analyst_only(ledger: Ledger) -> None:
    account = watched(ledger)
    analysts = ("bob", "ann", "bob", "bob", "ann")
    receipts = [charge(account, SIGNAL, analyst) for analyst in analysts]
    assert receipts == [1, 1, 2, 3, 2]
    assert [entry.number for entry in account.entries()] == [1, 2, 3, 4, 5]
    open_to_all = ledger.open_account(definition("open", beside=True))
    assert [charge(open_to_all, SIGNAL, analyst) for analyst in analysts] == [1, 2, 3, 4, 5]


# The same of any account and any history.

RELEASES = (
    *(PureDP(epsilon=e) for e in (0.0625, 0.125, 0.25, 0.5)),
    *(ApproxDP(epsilon=0.0625, delta=1e-7), Laplace(scale=8.0), Gaussian(sigma=16.0)),
)
PLAN = {"a": (RELEASES[0] * 4, RELEASES[1] * 2, RELEASES[4]), "b": (RELEASES[0] * 2, RELEASES[2])}
QUERIES = {f"q{n}": ("ab"[n % 2], (RELEASES[n],)) for n in range(4)}
POLICIES: dict[str, Policy] = {
    "sums": Open(filter=basic_filter(epsilon=1.0, delta=1e-6)),
    "any use": Open(),
    "planned": Planned(releases=PLAN),
    "dashboard": Dashboard.of(QUERIES),
}
MADE = {
    (policy, facts): AccountDefinition(
        name="made",
        epsilon=1.0 if policy in {"sums", "any use"} else 3.0,
        delta=1e-6,
        datasets=("a", "b"),
        policy=chosen,
        membership=AtMost(1) if facts else None,
        shares=(
            Quota(analyst="ann", epsilon=0.625, delta=5e-7),
            Quota(analyst="*", epsilon=0.75, delta=5e-7),
        ),
        beside=True,
    )
    for policy, chosen in POLICIES.items()
    for facts in (False, True)
}
NUMBERS = count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Something that somebody would like to charge."""

    analyst: str
    release: Release
    dataset: str
    query: str


WISHES = st.lists(
    st.builds(
        Wish,
        analyst=st.sampled_from(["ann", "ann", "bob", "cyd"]),
        release=st.sampled_from(RELEASES),
        dataset=st.sampled_from(["a", "b"]),
        query=st.sampled_from([*QUERIES]),
    ),
    max_size=14,
)


@dataclass(slots=True)
class World:
    """An account, and all that ann has seen of it."""

    account: Account
    views: list[str] = field(default_factory=list)

    def grant(self, wish: Wish) -> dict[str, Any]:
        """What somebody's charge tells."""
        asked = {"dataset": wish.dataset, "query_text": wish.query}
        return attempt(self.account, wish.release, wish.analyst, **asked)

    def look(self, *more: Any, query: str) -> None:
        """Ann looks at everything; names of accounts are all the same to her."""
        known = query_digest(query)
        view = str([*more, *seen(self.account, "ann", RELEASES, query=known)])
        self.views.append(view.replace(self.account.name, "NAME"))


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """One ledger for all examples."""
    with Ledger(tmp_path_factory.mktemp("quotas") / "ledger.db") as made:
        yield made


def world(shelf: Ledger, kind: tuple[str, bool]) -> World:
    """A new account of that kind."""
    described = {**MADE[kind].to_dict(), "name": f"account {next(NUMBERS)}"}
    return World(shelf.open_account(AccountDefinition.from_dict(described)))


every_kind = pytest.mark.parametrize("kind", MADE, ids=lambda kind: f"{kind[0]}, {kind[1]}")


@every_kind
@settings(max_examples=5, deadline=None)
@given(wishes=WISHES)
def test_what_an_analyst_sees_is_the_same_whatever_others_charge(
    shelf: Ledger, kind: tuple[str, bool], wishes: list[Wish]
) -> None:
    _same_for_ann(shelf, kind, wishes)


@pytest.mark.slow
@every_kind
@settings(max_examples=60, deadline=None)
@given(wishes=WISHES)
def test_what_an_analyst_sees_is_the_same_in_many_more_cases(
    shelf: Ledger, kind: tuple[str, bool], wishes: list[Wish]
) -> None:
    _same_for_ann(shelf, kind, wishes)


def _same_for_ann(shelf: Ledger, kind: tuple[str, bool], wishes: list[Wish]) -> None:
    """Until the total does not suffice; then the only difference is that it is refused."""
    alone, crowded = world(shelf, kind), world(shelf, kind)
    for wish in wishes:
        if wish.analyst != "ann":
            crowded.grant(wish)
            continue
        here, there = alone.grant(wish), crowded.grant(wish)
        if "receipt" in here and "receipt" not in there:
            assert there == without_figures(crowded.account)
            break
        alone.look(here, query=wish.query)
        crowded.look(there, query=wish.query)
        assert alone.views[-1] == crowded.views[-1]
    crowded.account.verify()


@given(wishes=st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 8)), max_size=40))
@settings(max_examples=15, deadline=None)
def test_a_total_that_is_the_sum_of_all_quotas_refuses_nothing_that_a_quota_allows(
    shelf: Ledger, wishes: list[tuple[str, int]]
) -> None:
    """Then not even the bit is there; the guide says so of open accounts without a delta."""
    quotas = {"a": 0.25, "b": 0.5, "c": 1.25}
    account = shelf.open_account(
        AccountDefinition(
            name=f"account {next(NUMBERS)}",
            epsilon=2.0,
            delta=0.0,
            datasets=("patients",),
            shares=tuple(Quota(analyst=a, epsilon=e, delta=0.0) for a, e in quotas.items()),
            beside=True,
        )
    )
    for analyst, sixteenths in wishes:
        release = PureDP(epsilon=sixteenths / 16)
        fits = account.price(release, analyst=analyst).fits
        assert ("receipt" in attempt(account, release, analyst)) == fits


# What stays as it was.


def test_the_owner_sees_everything(ledger: Ledger) -> None:
    account = watched(ledger)
    charge(account, SECRET, "bob")
    assert remaining_epsilon(account) == 0.5
    (epsilon, _) = account.price(PureDP(epsilon=0.25)).readings
    assert (epsilon.title, epsilon.remaining) == ("epsilon", Fraction(1, 2))
    assert account.price(PureDP(epsilon=0.25)).quota_of is None
    assert not account.price(PureDP(epsilon=0.75)).fits
    assert account.price(SIGNAL, analyst="ann").quota_of == "ann"
    assert account.odometer(delta=1e-6).epsilon == 1.5


def test_without_quotas_everybody_sees_the_total(ledger: Ledger) -> None:
    account = ledger.open_account(definition())
    charge(account, PureDP(epsilon=0.5), "bob")
    assert account.remaining(analyst="ann") == account.remaining()
    assert account.price(SIGNAL, analyst="ann") == account.price(SIGNAL)
    told = attempt(account, PureDP(epsilon=0.75), "ann")
    assert (told["meter"], told["remaining"]) == ("epsilon", 0.5)
    assert told["would_fit"] == "PureDP(epsilon=0.5)"


def test_the_promise_names_the_total_and_calls_a_quota_a_limit_of_use(ledger: Ledger) -> None:
    plain = ledger.open_account(definition("plain", beside=True)).words()
    words = watched(ledger).words()
    assert "Quotas" not in plain
    assert words.startswith("All answers together are (2.0, 1e-06)-differentially private")
    assert words.endswith(
        "Quotas limit how much of this budget each analyst may use. They do not guarantee what an "
        "analyst can learn: only the total is guaranteed."
    )
    assert "0.1" not in words  # no quota is part of it


STORED = (
    '{"beside":false,"datasets":["patients"],"delta":1e-06,"epsilon":1.0,"membership":null,'
    '"name":"trial","neighbours":"add_remove","policy":{"kind":"planned","releases":{"patients":'
    '[{"count":4,"release":{"epsilon":0.05,"type":"PureDP"},"type":"Repeated"}]}},"shares":'
    '[{"analyst":"ann","delta":0.0,"epsilon":0.5,"filter":{"delta":0.0,"epsilon":0.5,'
    '"filter":"basic"}},{"analyst":"*","delta":0.0,"epsilon":0.25,"filter":{"delta":0.0,'
    '"epsilon":0.25,"filter":"basic"}}]}'
)


def test_stored_definitions_are_what_they_were_when_quotas_were_called_shares() -> None:
    digest = "d84b3f858e39250f8085c75a4876bd3c602202ca6eeb037b9e85f70a64f71913"
    assert hashlib.sha256(STORED.encode()).hexdigest() == digest
    read = AccountDefinition.from_json(STORED)
    assert read.to_json() == STORED
    assert Share is Quota
    quotas = (share("ann", 0.5, 0.0), Quota(analyst="*", epsilon=0.25, delta=0.0))
    plan = Planned(releases={"patients": (PureDP(epsilon=0.05) * 4,)})
    assert definition(policy=plan, shares=quotas).to_json() == STORED
