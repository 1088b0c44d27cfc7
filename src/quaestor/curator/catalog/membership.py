"""What the catalog says about the datasets that one person can be in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.membership.facts import All, Fact, fact_from_dict
from quaestor.accounting.membership.rules import resolve
from quaestor.errors import ContradictoryFacts, InvalidParameter

if TYPE_CHECKING:
    from quaestor.curator.catalog.sections import Section

__all__ = ["NEIGHBOURS", "read_membership"]

NEIGHBOURS = ("add_remove", "replace", "replace_record")
_FACT = 'write  facts = [{ fact = "AtMost", m = 1, of = ["north", "south"] }]'
_HEADER = f"write  [membership]  and below it {_FACT.removeprefix('write')}"


def read_membership(document: Section, datasets: tuple[str, ...]) -> tuple[Fact | None, str]:
    """The facts, all of which hold, and which worlds are compared; facts speak of datasets."""
    section = document.section("membership", title="membership", remedy=_HEADER)
    section.only("facts", "neighbours")
    neighbours = section.choice(
        "neighbours", NEIGHBOURS, remedy=f"neighbours are {', '.join(NEIGHBOURS)}"
    )
    facts = [
        _fact(entry, datasets) for entry in section.entries("facts", kind="fact", remedy=_FACT)
    ]
    if not facts:
        return None, neighbours or NEIGHBOURS[0]
    try:
        resolve(All(*facts), datasets)
    except ContradictoryFacts as problem:
        raise section.wrong("facts", str(problem), "people must be able to be somewhere") from None
    return All(*facts), neighbours or NEIGHBOURS[0]


def _fact(entry: Section, datasets: tuple[str, ...]) -> Fact:
    try:
        fact = fact_from_dict(dict(entry.values))
        resolve(fact, datasets)
    except InvalidParameter as problem:
        remedy = "names are those of datasets; " + _FACT
        raise entry.wrong(None, str(problem), remedy) from None
    return fact
