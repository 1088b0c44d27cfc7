"""A slow and obvious account, in memory: the ledger must agree with it, whatever is done."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.accounting.membership.facts import AtMost, Exclusive, Fact
from quaestor.accounting.releases import ApproxDP, PureDP, Release
from quaestor.errors import AccountClosed, BudgetExceeded, NotPlanned
from quaestor.ledger import Ledger, Open, Planned
from tests.ledger.places import definition, share

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.ledger import Account, AccountDefinition

DATASETS = ("a", "b", "c")
ANALYSTS = ("ann", "bob")
RELEASES = (
    PureDP(epsilon=0.1),
    PureDP(epsilon=1 / 3),
    ApproxDP(epsilon=0.05, delta=1e-7),
    ApproxDP(epsilon=0.2, delta=3e-7),
)
PLAN = {"a": (RELEASES[0] * 5, RELEASES[2] * 2), "b": (RELEASES[1],), "c": (RELEASES[0] * 3,)}


def can_be_in(membership: Fact | None, datasets: frozenset[str]) -> bool:
    """Whether one person can be in all of these, by the two facts that are used here."""
    match membership:
        case AtMost(m=most):
            return len(datasets) <= most
        case Exclusive(a=a, b=b):
            return not (datasets & set(a) and datasets & set(b))
        case _:
            return True


@dataclass
class Charged:
    """One charge, as the model remembers it."""

    dataset: str
    analyst: str
    releases: tuple[Release, ...]
    status: str = "reserved"
    answer: str | None = None
    query: str = ""


@dataclass
class Model:
    """Remembers every charge, and adds all of them up again whenever it is asked."""

    made: AccountDefinition
    charges: list[Charged] = field(default_factory=list)
    closed: bool = False

    def fits(self, new: Charged) -> bool:
        """Whether everything together, and everything of the analyst, is within its limit."""
        standing = [*(c for c in self.charges if c.status != "void"), new]
        if isinstance(self.made.policy, Planned):
            if not self._within_plan(standing):
                return False
        elif not self._within(standing, self.made.epsilon, self.made.delta):
            return False
        return not self.made.shares or self.fits_quota(new)

    def fits_quota(self, new: Charged) -> bool:
        """Whether everything of the analyst is within the analyst's quota."""
        standing = [*(c for c in self.charges if c.status != "void"), new]
        own = [charge for charge in standing if charge.analyst == new.analyst]
        limits = {each.analyst: each for each in self.made.shares}
        limit = limits.get(new.analyst, limits["*"])
        return self._within(own, limit.epsilon, limit.delta)

    def _within(self, charges: Iterable[Charged], epsilon: float, delta: float) -> bool:
        listed = list(charges)
        everywhere = chain.from_iterable(combinations(DATASETS, n) for n in range(4))
        for member in map(frozenset, everywhere):
            if not can_be_in(self.made.membership, member):
                continue
            seen = [r for c in listed if c.dataset in member for r in c.releases]
            if sum((Fraction(r.epsilon) for r in seen), Fraction(0)) > Fraction(epsilon):  # type: ignore[attr-defined]
                return False
            if sum((Fraction(getattr(r, "delta", 0.0)) for r in seen), Fraction(0)) > Fraction(
                delta
            ):
                return False
        return True

    def _within_plan(self, charges: Iterable[Charged]) -> bool:
        taken = Counter((c.dataset, r) for c in charges for r in c.releases)
        free: Counter[tuple[str, Release]] = Counter()
        for dataset, slots in PLAN.items():
            for slot in slots:
                free[dataset, getattr(slot, "release", slot)] += getattr(slot, "count", 1)
        return all(number <= free[slot] for slot, number in taken.items())


def planned(new: Charged) -> bool:
    known = {(d, getattr(slot, "release", slot)) for d, slots in PLAN.items() for slot in slots}
    return all((new.dataset, release) in known for release in new.releases)


def step(account: Account, model: Model, choose: random.Random) -> None:
    """One random charge, on both."""
    new = Charged(
        dataset=choose.choice(DATASETS),
        analyst=choose.choice(ANALYSTS),
        releases=tuple(choose.choices(RELEASES, k=choose.choice((1, 1, 2)))),
        query=f"f{choose.randrange(4)}",
    )
    given: dict[str, Any] = {"dataset": new.dataset, "analyst": new.analyst, "query": new.query}
    if isinstance(model.made.policy, Planned) and not planned(new):
        with pytest.raises(NotPlanned):
            account.reserve(new.releases, **given)
        return
    fits = model.fits(new)
    shown = model.fits_quota(new) if model.made.shares else fits
    assert account.price(new.releases, **given).fits == shown
    if model.closed:
        with pytest.raises(AccountClosed):
            account.reserve(new.releases, **given)
        return
    if not fits:
        with pytest.raises(BudgetExceeded):
            account.reserve(new.releases, **given)
        return
    with account.reserve(new.releases, **given) as charge:
        model.charges.append(new)
        assert charge.entry == len(model.charges)
        fate = choose.random()
        if fate < 0.4:
            charge.void("no")
            new.status = "void"
        elif fate < 0.9:
            new.answer = f"{fate}" if fate < 0.8 else None
            charge.release(new.answer)
            new.status = "released"
    if choose.random() < 0.01:
        account.close()
        model.closed = True


def compare(account: Account, model: Model) -> None:
    """Everything that can be seen, against the model."""
    found = [(e.dataset, e.analyst, e.releases, e.status, e.query) for e in account.entries()]
    assert found == [(c.dataset, c.analyst, c.releases, c.status, c.query) for c in model.charges]
    for dataset in DATASETS:
        for query in ("f0", "f1", "f2", "f3"):
            for analyst in ANALYSTS:
                stored = account.answer(query, dataset=dataset, analyst=analyst)
                answers = [
                    (number, c.answer)
                    for number, c in enumerate(model.charges, start=1)
                    if c.answer is not None
                    and (c.dataset, c.query) == (dataset, query)
                    and (not model.made.shares or c.analyst == analyst)
                ]
                assert stored == (answers[-1] if answers else None)


DEFINITIONS = [
    definition("model", datasets=DATASETS, epsilon=3.0, delta=4e-6),
    definition("model", datasets=DATASETS, epsilon=2.0, delta=2e-6, membership=AtMost(1)),
    definition(
        "model",
        datasets=DATASETS,
        epsilon=2.0,
        delta=2e-6,
        membership=Exclusive("a", "b"),
        shares=(share("ann", 1.0), share("*", 1.5)),
    ),
    definition("model", datasets=DATASETS, epsilon=2.0, policy=Planned(releases=PLAN)),
    definition(
        "model",
        datasets=DATASETS,
        epsilon=2.0,
        policy=Planned(releases=PLAN),
        shares=(share("*", 0.4, 1e-7),),
    ),
]


@pytest.mark.parametrize("place", range(len(DEFINITIONS)))
def test_the_ledger_agrees_with_the_obvious_account(location: str, place: int) -> None:
    choose = random.Random(place)
    made = DEFINITIONS[place]
    model = Model(made)
    with Ledger(location) as ledger:
        ledger.open_account(made)
    for _ in range(4):
        with Ledger(location) as ledger:  # nothing is remembered but by the store
            account = ledger.account("model")
            for _ in range(30):
                step(account, model, choose)
            compare(account, model)
            account.verify()
    statuses = Counter(charge.status for charge in model.charges)
    assert min(statuses["void"], statuses["released"]) >= 2
    assert isinstance(made.policy, Open | Planned)
