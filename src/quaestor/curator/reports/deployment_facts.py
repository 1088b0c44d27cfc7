"""What a ledger and a catalog know of a deployment, gathered for reports about it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import quaestor
from quaestor.accounting.numerics.digits import rounded_up
from quaestor.accounting.releases import counts_of

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.ledger import AccountDefinition, Ledger

__all__ = ["ReportFacts", "facts_of", "to_fill_in"]

_NEIGHBOURS = {
    "add_remove": "one person's rows are added or removed (unbounded differential privacy)",
    "replace": "one person is replaced by another, who may be in other datasets",
    "replace_record": "one person's rows in a dataset are replaced (bounded differential privacy)",
}


def to_fill_in(what: str) -> str:
    """The mark of what only a person can say."""
    return f"TO BE FILLED IN: {what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """Facts about one account. Nothing here names an analyst, a purpose or an answer."""

    definition: AccountDefinition
    words: str
    closed: bool
    head: str
    statuses: Counter[str]
    mechanisms: Counter[str]
    first: str | None
    last: str | None
    lost: float
    tables: tuple[Table, ...]
    others: tuple[str, ...]
    """Accounts that cover one of the datasets as well."""

    @property
    def entries(self) -> str:
        """How many charges there are, by what became of them."""
        return ", ".join(
            f"{self.statuses[name]} {name}" for name in ("released", "reserved", "void")
        )

    @property
    def target(self) -> str:
        """The guarantee in figures."""
        calendar = self.definition.policy.calendar
        each = "" if calendar is None else f" for each {calendar.every}"
        return f"epsilon {self.definition.epsilon!r}, delta {self.definition.delta!r}{each}"

    @property
    def odometer(self) -> str:
        """What was lost so far, in a sentence."""
        lost = "no finite epsilon" if math.isinf(self.lost) else f"epsilon {rounded_up(self.lost)}"
        chance = f"except with probability {self.definition.delta!r}"
        return f"At most {lost} was lost so far, {chance} (an odometer, valid at every time)."

    @property
    def adjacency(self) -> str:
        """Which two worlds are compared."""
        return f"Two worlds are compared in which {_NEIGHBOURS[self.definition.neighbours]}."

    @property
    def released(self) -> str:
        """The mechanisms, with how often each was charged."""
        if not self.mechanisms:
            return "Nothing was released yet."
        listed = ", ".join(f"{name} ({count})" for name, count in sorted(self.mechanisms.items()))
        return f"Releases charged, by kind: {listed}."

    @property
    def composition(self) -> str:
        """How losses are added up."""
        return (
            f"{self.definition.policy.composition}, in exact arithmetic rounded to the safe side."
        )

    @property
    def units(self) -> str:
        """The privacy unit of every table, and what of it counts."""
        lines = []
        for table in self.tables:
            limits = table.contribution
            bound = (
                ""
                if limits is None
                else f": at most {limits.rows} rows in each of {limits.groups} groups"
            )
            lines.append(f"table {table.name}, unit {table.unit}{bound}")
        return "; ".join(lines)

    @property
    def quotas(self) -> str:
        """How the budget is divided among analysts."""
        shares = self.definition.shares
        if not shares:
            return "The budget is not divided among analysts; all of them may put answers together."
        return (
            f"{len(shares)} quotas limit how much of the budget an analyst may use. They do not "
            "guarantee what an analyst can learn: analysts are assumed to collude, and only the "
            "total is guaranteed."
        )

    @property
    def library(self) -> str:
        """What accounts for the releases, and for those of a curator draws the noise."""
        return f"Quaestor {quaestor.__version__}"

    @property
    def beside(self) -> str:
        """Whether the people in these datasets lose more elsewhere in the ledger."""
        if not self.others:
            return "No other account of this ledger covers these datasets."
        listed = ", ".join(self.others)
        return f"Yes, by {listed}: people in the same datasets lose what all of them allow."


def facts_of(ledger: Ledger, name: str, catalog: Catalog | None) -> ReportFacts:
    """Read all of them."""
    account = ledger.account(name)
    definition, state = account.definition, account.state()
    statuses: Counter[str] = Counter()
    mechanisms: Counter[str] = Counter()
    times: list[str] = []
    for entry in account.entries():
        statuses[entry.status] += 1
        if entry.status == "void":
            continue
        for release, count in counts_of(entry.releases).items():
            mechanisms[type(release).__name__] += count
        if entry.settled is not None:
            times.append(entry.settled)
    tables = () if catalog is None else catalog.tables
    return ReportFacts(
        definition=definition,
        words=account.words(),
        closed=account.is_closed(),
        head=state.head,
        statuses=statuses,
        mechanisms=mechanisms,
        first=min(times, default=None),
        last=max(times, default=None),
        lost=account.odometer(delta=definition.delta).epsilon,
        tables=tuple(table for table in tables if table.dataset in definition.datasets),
        others=tuple(
            other.name
            for other in ledger.accounts()
            if other.name != name and set(other.definition.datasets) & set(definition.datasets)
        ),
    )
