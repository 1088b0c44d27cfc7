"""A policy of somebody else's: a class, and one line that makes ledgers know it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from quaestor import Gaussian, PureDP, compose
from quaestor.errors import (
    BudgetExceeded,
    LedgerCorrupted,
    NotPlanned,
    TargetOutOfReach,
)
from quaestor.ledger import AccountDefinition, Ledger
from quaestor.ledger.amounts import added
from quaestor.ledger.policies.base import Limit, Policy, Terms, register, unregister
from quaestor.ledger.price import Balance, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from quaestor.accounting.releases import Release
    from quaestor.ledger.amounts import Totals
    from quaestor.ledger.price import Request

METER = "charges"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rationed(Policy):
    """At most ``most`` charges on all datasets together, each of at most epsilon ``each``.

    Everything is within as many releases of epsilon ``each``, chosen in advance, and optimal
    composition holds for those whatever analysts choose.
    """

    kind: ClassVar[str] = "rationed"
    chosen_freely: ClassVar[bool] = True
    composition: ClassVar[str] = "Optimal composition of rations"
    most: int
    each: float

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "most": self.most, "each": self.each}

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> _Rationed:
        return cls(most=described["most"], each=described["each"])

    def limit(self, terms: Terms) -> Limit:
        return _Rations(terms, self)

    def check_new(self, terms: Terms) -> None:
        needed = self.planned_epsilon(terms)
        if needed > terms.epsilon:
            raise TargetOutOfReach(f"so many charges lose epsilon {needed:g}")

    def check_again(self, terms: Terms) -> None:
        self.check_new(terms)

    def planned_epsilon(self, terms: Terms) -> float:
        return compose(PureDP(epsilon=self.each) * self.most).epsilon(delta=terms.delta)

    def words(self) -> Iterator[str]:
        yield f"There are {self.most} charges, each of epsilon {self.each} at most."


class _Rations(Limit):
    """Counts charges."""

    __slots__ = ("_policy", "_terms")

    def __init__(self, terms: Terms, policy: _Rationed) -> None:
        self._terms, self._policy = terms, policy

    def costs(self, request: Request) -> Totals:
        epsilon = Fraction(0)
        for release in request.releases:
            single, count = release.counted()
            if not isinstance(single, PureDP):
                raise self._refused(request)
            epsilon += Fraction(single.epsilon) * count
        if epsilon > Fraction(self._policy.each):
            raise self._refused(request)
        return {METER: Fraction(1)}

    def _refused(self, request: Request) -> NotPlanned:
        asked = ", ".join(map(str, request.releases))
        left = f"a ration is epsilon {self._policy.each}"
        return NotPlanned(self._terms.name, asked=asked, left=left)

    def _left(self, spent: Mapping[str, Totals]) -> Fraction:
        taken = sum((totals.get(METER) or Fraction(0) for totals in spent.values()), Fraction(0))
        return self._policy.most - taken

    def after(self, spent: Mapping[str, Totals], request: Request) -> Totals | None:
        costs = self.costs(request)
        return added(spent.get(request.dataset, {}), costs) if self._left(spent) >= 1 else None

    def readings(self, spent: Mapping[str, Totals], request: Request) -> tuple[Reading, ...]:
        return (
            Reading(
                meter="rations",
                analyst=None,
                requested=self.costs(request)[METER],
                remaining=max(self._left(spent), Fraction(0)),
                limit=Fraction(self._policy.most),
            ),
        )

    def short(self, readings: tuple[Reading, ...]) -> Reading | None:
        return next((reading for reading in readings if not reading.fits), None)

    def times(self, spent: Mapping[str, Totals], request: Request) -> int:
        self.costs(request)
        return int(self._left(spent))

    def holds(self, spent: Mapping[str, Totals]) -> bool:
        return self._left(spent) >= 0

    def excess(self, spent: Mapping[str, Totals]) -> str:
        return f"{-self._left(spent)} rations too many"

    def balances(self, spent: Mapping[str, Totals], dataset: str) -> tuple[Balance, ...]:
        limit = Fraction(self._policy.most)
        return (
            Balance(
                meter="rations",
                dataset=dataset,
                analyst=None,
                spent=spent.get(dataset, {}).get(METER, Fraction(0)),
                remaining=max(self._left(spent), Fraction(0)),
                limit=limit,
            ),
        )


@pytest.fixture
def registered() -> Iterator[None]:
    """The one line, and its undoing."""
    register(_Rationed)
    yield
    unregister(_Rationed)


def defined(*, most: int = 3, each: float = 0.25, epsilon: float = 1.0) -> AccountDefinition:
    policy = _Rationed(most=most, each=each)
    return AccountDefinition(
        name="toy", epsilon=epsilon, delta=0.0, datasets=("people",), policy=policy
    )


@pytest.mark.usefixtures("registered")
def test_a_policy_is_one_class_and_one_line(tmp_path: Path) -> None:
    file, ration = tmp_path / "ledger.db", PureDP(epsilon=0.25)
    with Ledger(file) as ledger:
        with pytest.raises(TargetOutOfReach, match=r"epsilon 1\.25"):
            ledger.open_account(defined(most=5))
        account = ledger.open_account(defined())
        assert "There are 3 charges, each of epsilon 0.25 at most." in account.words()
        for release in (ration, PureDP(epsilon=0.125) * 2):
            with account.reserve(release, purpose="a ration") as charge:
                charge.drawing()
                charge.release("42")
        too_much: tuple[Release, ...] = (PureDP(epsilon=0.5), Gaussian(sigma=9.0), ration * 2)
        for release in too_much:
            with pytest.raises(NotPlanned, match=r"a ration is epsilon 0\.25"):
                account.reserve(release)

    with Ledger(file) as ledger:
        account = ledger.account("toy")
        assert account.definition == defined()
        with account.reserve(ration) as charge:
            charge.void("not needed")
        assert account.price(ration).left == 1
        account.reserve(ration)
        with pytest.raises(BudgetExceeded, match="rations: needs 1, 0 left"):
            account.reserve(ration)
        standing = account.standing()
        assert (standing.planned, standing.holders[0].left) == (0.75, Fraction(0))
        assert standing.statuses == {"released": 2, "reserved": 1, "void": 1}
        assert [point.used for point in account.history()][-1] == 1.0
        (verified,) = ledger.verify(heads=ledger.heads())
        assert (verified.entries, verified.problem) == (4, None)


def test_what_nobody_registered_is_no_policy(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    register(_Rationed)
    try:
        with Ledger(file) as ledger:
            ledger.open_account(defined())
    finally:
        unregister(_Rationed)
    with Ledger(file) as ledger, pytest.raises(LedgerCorrupted, match="it has no valid definition"):
        ledger.account("toy")
