"""How an account stands: what is burnt, what is left on every meter, and what still fits."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from quaestor.errors import QuaestorError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.releases import Release
    from quaestor.ledger import Account, Balance, OdometerReading

__all__ = ["MANY", "Burn", "MeterLine", "Standing", "standing_of", "used_of", "used_on"]

MANY = 10**15
"""As often as anything can be counted: what costs nothing fits that often."""

_ANYBODY = "*"  # the name of the quota of everybody who has none of their own
_MOST_DATASETS = 20
_MOST_KINDS = 3
_RECENT = 50
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterLine:
    """One meter of one dataset, and whether it must hold or is one of several of which one must."""

    balance: Balance
    rule: str

    @property
    def used(self) -> Fraction | None:
        """The share that is gone; None where the meter is of no use any more."""
        spent, remaining, limit = self.balance.spent, self.balance.remaining, self.balance.limit
        if spent is None or remaining is None:
            return None
        return 1 - remaining / limit if limit else _ZERO

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**self.balance.to_dict(), "rule": self.rule}


@dataclass(frozen=True, slots=True, kw_only=True)
class Burn:
    """What is gone of a dataset's budget: everybody's, or one analyst's; and what still fits."""

    dataset: str
    analyst: str | None
    used: Fraction
    fits: tuple[tuple[str, int], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        from quaestor.ledger.totals.amounts import above

        fits = [{"release": release, "left": left} for release, left in self.fits]
        return {
            "dataset": self.dataset,
            "analyst": self.analyst,
            "used": above(self.used),
            "fits": fits,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Everything that ``account show`` says about an account."""

    account: Account
    closed: bool
    problem: str | None
    head: str
    statuses: Counter[str]
    datasets: tuple[str, ...]
    burns: tuple[Burn, ...]
    meters: tuple[MeterLine, ...]
    odometer: OdometerReading
    planned: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "account": self.account.name,
            "status": "closed" if self.closed else "open",
            "problem": self.problem,
            "definition": self.account.definition.to_dict(),
            "words": self.account.words(),
            "planned_epsilon": self.planned,
            "standing": [burn.to_dict() for burn in self.burns],
            "meters": [line.to_dict() for line in self.meters],
            "odometer": {"epsilon": self.odometer.epsilon, "delta": self.odometer.delta},
            "entries": {name: self.statuses[name] for name in ("released", "reserved", "void")},
            "head": self.head,
        }


def standing_of(account: Account, *, dataset: str | None = None) -> Standing:
    """Read all of it; of one dataset, of all, or of those last charged where there are many."""
    from quaestor.ledger import planned_epsilon

    definition, state = account.definition, account.state()
    past = _past(account)
    datasets = (dataset,) if dataset is not None else definition.datasets
    if len(datasets) > _MOST_DATASETS:
        datasets = tuple(reversed(past.datasets))[:_MOST_DATASETS] or datasets[:_MOST_DATASETS]
    kinds = () if state.closed else _kinds(account, past.recent)
    burns: list[Burn] = []
    meters: list[MeterLine] = []
    for each in datasets:
        for analyst in (None, *past.analysts):
            lines = _lines(account, each, analyst)
            meters += lines
            if lines:
                fits = _fits(account, kinds, each, analyst)
                used = used_on(lines)
                burns.append(Burn(dataset=each, analyst=analyst, used=used, fits=fits))
    return Standing(
        account=account,
        closed=bool(state.closed),
        problem=account.problem(),
        head=state.head,
        statuses=past.statuses,
        datasets=datasets,
        burns=tuple(burns),
        meters=tuple(meters),
        odometer=account.odometer(delta=definition.delta),
        planned=planned_epsilon(definition),
    )


class _Past(NamedTuple):
    """What entries say: how many there are of each kind, of which datasets, and by whom."""

    statuses: Counter[str]
    datasets: tuple[str, ...]
    analysts: tuple[str, ...]
    recent: tuple[tuple[Release, ...], ...]


def _past(account: Account) -> _Past:
    statuses: Counter[str] = Counter()
    datasets: dict[str, None] = {}
    quotas = account.definition.shares
    analysts: dict[str, None] = dict.fromkeys(quota.analyst for quota in quotas)
    recent: deque[tuple[Release, ...]] = deque(maxlen=_RECENT)
    for entry in account.entries():
        statuses[entry.status] += 1
        datasets.pop(entry.dataset, None)  # the one charged last comes last
        datasets[entry.dataset] = None
        if quotas:
            analysts.setdefault(entry.analyst)
        recent.append(entry.releases)
    analysts.pop(_ANYBODY, None)
    return _Past(statuses, tuple(datasets), tuple(analysts), tuple(recent))


def used_of(account: Account) -> Fraction:
    """The share that is gone of everybody's budget, on the dataset where it is the largest."""
    shares = (used_on(_lines(account, each, None)) for each in account.definition.datasets)
    return max(shares, default=_ZERO)


def used_on(lines: Sequence[MeterLine]) -> Fraction:
    """The share that is gone: of the fullest that must hold, and of the best of the others."""
    slots = [line.balance for line in lines if line.rule == "slots"]
    if slots:
        taken = sum((slot.spent or _ZERO for slot in slots), _ZERO)
        return taken / sum(slot.limit for slot in slots)
    must = [_ONE if line.used is None else line.used for line in lines if line.rule == "must hold"]
    one_of = [line for line in lines if line.rule == "one of these"]
    if one_of:
        must.append(min((line.used for line in one_of if line.used is not None), default=_ONE))
    return max(must, default=_ZERO)


def _lines(account: Account, dataset: str, analyst: str | None) -> list[MeterLine]:
    from quaestor.ledger import Open

    policy = account.definition.policy
    quota = None if analyst is None else account.definition.quota(analyst)
    chosen = quota.filter if quota else policy.filter if isinstance(policy, Open) else None
    balances = account.remaining(dataset=dataset, analyst=analyst or "")
    if chosen is None:
        return [MeterLine(balance=balance, rule="slots") for balance in balances]
    count = len(chosen.every)
    return [
        MeterLine(balance=balance, rule="must hold" if place < count else "one of these")
        for place, balance in enumerate(balances)
    ]


def _kinds(account: Account, recent: Sequence[tuple[Release, ...]]) -> tuple[Release, ...]:
    """What people will want to ask next: what was expected, or else what was charged last."""
    from quaestor.ledger import Open
    from quaestor.ledger.policies.kinds import counted

    policy = account.definition.policy
    if not isinstance(policy, Open):
        return ()
    kinds = list(counted(policy.expected))
    for releases in reversed(recent):
        kinds += [kind for kind in counted(releases) if kind not in kinds]
    return tuple(kinds[:_MOST_KINDS])


def _fits(
    account: Account, kinds: Sequence[Release], dataset: str, analyst: str | None
) -> tuple[tuple[str, int], ...]:
    if account.definition.shares and analyst is None:
        return ()  # what fits depends on who asks
    found = []
    for kind in kinds:
        try:
            # for the owner, who may see both: of an analyst's quota, and of the total
            prices = [account.price(kind, dataset=dataset, analyst=a) for a in {"", analyst or ""}]
        except QuaestorError:
            continue  # a kind that this account can say nothing about
        found.append((str(kind), min(price.left for price in prices)))
    return tuple(found)
