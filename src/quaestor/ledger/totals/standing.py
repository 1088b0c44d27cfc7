"""How an account stands: what is left of every budget and meter, and what still fits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from quaestor.accounting.numerics.digits import rounded_down, rounded_up
from quaestor.documents.presented import Presented
from quaestor.documents.text_table import TextTable, headed
from quaestor.ledger.amounts import above

if TYPE_CHECKING:
    from collections import Counter

    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.journal.data_versions import DataVersion
    from quaestor.ledger.journal.declarations import RecordedDeclaration
    from quaestor.ledger.price import Balance
    from quaestor.ledger.successors import Together
    from quaestor.ledger.totals.odometer import OdometerReading

__all__ = ["DatasetDeclaration", "HolderStanding", "MeterStanding", "Standing"]

_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterStanding:
    """One meter of one dataset, and whether it must hold or is one of several of which one must.

    >>> from quaestor.ledger import Balance
    >>> half = Balance(
    ...     meter="epsilon", dataset="visits", analyst=None,
    ...     spent=Fraction(1, 2), remaining=Fraction(1, 2), limit=Fraction(1),
    ... )
    >>> MeterStanding(balance=half, rule="must hold").left
    Fraction(1, 2)
    """

    balance: Balance
    rule: str
    """``must hold``, ``one of these`` or ``slots``."""

    @property
    def left(self) -> Fraction:
        """The share that is left; 0 where the meter is of no use any more."""
        spent, remaining, limit = self.balance.spent, self.balance.remaining, self.balance.limit
        if spent is None or remaining is None:
            return _ZERO
        return remaining / limit if limit else _ONE

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**self.balance.to_dict(), "rule": self.rule}


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderStanding:
    """What is left of a budget on one dataset: the account's or, of one analyst, the quota's.

    >>> ann = HolderStanding(
    ...     account="trial", dataset="visits", analyst="ann", used=Fraction(1, 4), meter="epsilon",
    ...     meters=(),
    ... )
    >>> ann.left
    Fraction(3, 4)
    """

    account: str
    dataset: str
    analyst: str | None
    used: Fraction
    """The share that is gone; more than 1 where too much was charged."""
    meter: str
    """The meter that says so: of those that must hold the emptiest, of the others the fullest."""
    meters: tuple[MeterStanding, ...]
    fits: tuple[tuple[str, int], ...] = ()
    """How many more of some releases would fit."""
    block: str = ""
    """The block of time that it is of, where each has a budget of its own."""

    @property
    def left(self) -> Fraction:
        """The share that is left, from 0 to 1."""
        return min(max(1 - self.used, _ZERO), _ONE)

    @property
    def holder(self) -> str:
        """Whose budget it is, in words."""
        return f"account {self.account}" if self.analyst is None else f"{self.analyst}'s quota"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        fits = [{"release": release, "left": left} for release, left in self.fits]
        return {
            "dataset": self.dataset,
            "analyst": self.analyst,
            "used": above(self.used),
            "fits": fits,
            **({"block": self.block} if self.block else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDeclaration:
    """What was declared last of a dataset, and how often that has changed."""

    last: RecordedDeclaration
    changes: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "dataset": self.last.dataset,
            "digest": self.last.declared.declaration,
            "time": self.last.time,
            "changes": self.changes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(Presented):
    """Everything that an owner asks of an account: see ``Account.standing``.

    >>> from tempfile import TemporaryDirectory
    >>> from quaestor.ledger import AccountDefinition, Ledger
    >>> trial = AccountDefinition(name="trial", epsilon=1.0, delta=1e-6, datasets=("patients",))
    >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/ledger.db") as ledger:
    ...     standing = ledger.open_account(trial).standing()
    ...     standing.closed, [holder.left for holder in standing.holders]
    (False, [Fraction(1, 1)])
    """

    definition: AccountDefinition
    words: str
    closed: bool
    problem: str | None
    """Why it takes no further charges though it is not closed."""
    head: str
    statuses: Counter[str]
    """How many entries are released, reserved and void."""
    datasets: tuple[str, ...]
    """Those that are shown: where there are many, the ones that were charged last."""
    holders: tuple[HolderStanding, ...]
    odometer: OdometerReading
    planned: float | None
    """The epsilon of all that is declared; None where nothing is."""
    declared: tuple[RecordedDeclaration, ...] = ()
    """What a catalog declares of these datasets, from the opening on and whenever it changed."""

    versions: tuple[DataVersion, ...] = ()
    """The last version of each of these datasets of which a refresh was recorded."""
    together: Together | None = None
    """What is lost together with the accounts that it succeeds; None where it succeeds none."""

    @property
    def meters(self) -> tuple[MeterStanding, ...]:
        """The meters of all holders."""
        return tuple(meter for holder in self.holders for meter in holder.meters)

    def to_table(self) -> TextTable:
        """Every meter of every budget, what was lost so far, and what still fits."""
        shared = bool(self.definition.shares)
        heads = ["dataset", *(["whose"] if shared else []), "meter", "#used", "#left", "#left (%)"]
        reading = self.odometer
        lost = "no finite epsilon" if math.isinf(reading.epsilon) else rounded_up(reading.epsilon)
        state = "closed" if self.closed else self.problem or ""
        fits = [
            f"{left} more of {release} would fit on {holder.dataset} {holder.block}".rstrip()
            for holder in self.holders
            for release, left in holder.fits
        ]
        return TextTable(
            title=f"account {self.definition.name}: epsilon {self.definition.epsilon!r}, "
            f"delta {self.definition.delta!r}" + (f" ({state})" if state else ""),
            headings=headed(*heads),
            rows=[_meter_row(meter, shared=shared) for meter in self.meters],
            notes=[
                self.words,
                f"lost so far: at most {lost}, except with probability {reading.delta!r}",
                *fits,
            ],
        )

    def plot(self, *, axes: Any = None) -> Any:
        """Draw what is left of every budget, as bars.

        Returns matplotlib's axes: those that are given, or new ones.
        """
        from quaestor.figures.bars import ShareBar, plot_shares
        from quaestor.figures.style import given_or_new

        bars = []
        for holder in self.holders:
            whose = "" if holder.analyst is None else f", {holder.analyst}"
            name = f"{holder.dataset} {holder.block}".rstrip() + whose
            bars.append(ShareBar(name, 1.0 - float(holder.left), 0.0, float(holder.left)))
        with given_or_new(axes) as drawn:
            plot_shares(drawn, bars, title=f"account {self.definition.name}")
            return drawn

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "account": self.definition.name,
            "status": "closed" if self.closed else "open",
            "problem": self.problem,
            "definition": self.definition.to_dict(),
            "words": self.words,
            "planned_epsilon": self.planned,
            "together": None if self.together is None else self.together.to_dict(),
            "standing": [holder.to_dict() for holder in self.holders],
            "meters": [meter.to_dict() for meter in self.meters],
            "odometer": {"epsilon": self.odometer.epsilon, "delta": self.odometer.delta},
            "entries": {name: self.statuses[name] for name in ("released", "reserved", "void")},
            "head": self.head,
            "declared": [each.to_dict() for each in self.declarations],
            "versions": [
                {"dataset": each.dataset, "version": each.label, "time": each.time}
                for each in self.versions
            ],
        }

    @property
    def declarations(self) -> tuple[DatasetDeclaration, ...]:
        """What was declared last of each dataset, and how often that has changed."""
        found: dict[str, list[RecordedDeclaration]] = {}
        for each in self.declared:
            found.setdefault(each.dataset, []).append(each)
        return tuple(
            DatasetDeclaration(last=listed[-1], changes=len(listed) - 1)
            for listed in found.values()
        )


def _meter_row(meter: MeterStanding, *, shared: bool) -> list[str]:
    balance = meter.balance
    if balance.spent is None or balance.remaining is None:
        amounts = ["not applicable", "not applicable", "0 %"]
    else:
        percent = f"{math.floor(100 * meter.left)} %"
        amounts = [rounded_up(balance.spent), rounded_down(balance.remaining), percent]
    whose = ["everybody" if balance.analyst is None else balance.analyst] if shared else []
    return [f"{balance.dataset} {balance.block}".rstrip(), *whose, balance.meter, *amounts]
