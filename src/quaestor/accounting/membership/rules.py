"""Facts about named databases, as sets of bits: what is allowed, and whether anything is.

A membership vector is a Python integer: bit i says whether the person is in database i. That is
exact, compact, and fast for ten thousand databases.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from quaestor.errors import ContradictoryFacts, UnknownDatabase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from quaestor.accounting.membership.facts import Fact

__all__ = ["FEW", "Cap", "Rules", "RulesDraft", "bits", "resolve"]

FEW = 12  # databases whose memberships are listed one by one


class Cap(NamedTuple):
    """Of these databases, a person is in at least ``low`` and at most ``high``."""

    mask: int
    low: int
    high: int


class Sides(NamedTuple):
    """Two groups of databases that a fact sets against each other."""

    a: int
    b: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The facts, resolved: every one of them must hold of a membership."""

    names: tuple[str, ...]
    caps: tuple[Cap, ...] = ()
    implications: tuple[Sides, ...] = ()
    exclusions: tuple[Sides, ...] = ()
    listed: frozenset[int] | None = None

    @property
    def everything(self) -> int:
        """The membership of somebody who is everywhere."""
        return (1 << len(self.names)) - 1

    def allows(self, member: int) -> bool:
        """Whether somebody can be in exactly these databases."""
        return (
            all(low <= (member & mask).bit_count() <= high for mask, low, high in self.caps)
            and all(not member & a or member & b == b for a, b in self.implications)
            and not any(member & a and member & b for a, b in self.exclusions)
            and (self.listed is None or member in self.listed)
        )

    def closed(self, member: int) -> int:
        """The least membership with these databases that breaks no implication."""
        before = -1
        while member != before:
            before = member
            for a, b in self.implications:
                member |= b if member & a else 0
        return member

    def not_too_many(self, member: int) -> bool:
        """Whether no upper limit and no exclusion is broken (more may still be missing)."""
        return all((member & mask).bit_count() <= high for mask, _, high in self.caps) and not any(
            member & a and member & b for a, b in self.exclusions
        )

    def memberships(self) -> list[int] | None:
        """All that are allowed, one by one; None where they are too many to list."""
        if self.listed is not None:
            return [member for member in sorted(self.listed) if self.allows(member)]
        if len(self.names) > FEW:
            return None
        return [member for member in range(1 << len(self.names)) if self.allows(member)]

    def connected_parts(self) -> list[int]:
        """Groups of databases that no fact connects with others."""
        parts: list[int] = []
        facts = [cap.mask for cap in self.caps]
        facts += [a | b for a, b in (*self.implications, *self.exclusions)]
        for fact in facts:
            joined = fact
            for part in parts:
                joined |= part if part & fact else 0
            parts = [part for part in parts if not part & fact] + [joined]
        loose = self.everything
        for part in parts:
            loose &= ~part
        return parts + [1 << i for i in bits(loose)]

    def restricted(self, places: Sequence[int]) -> Rules:
        """The rules about some databases alone, with these in their order as the bits."""
        part = sum(1 << i for i in places)

        def inside(member: int) -> int:
            return sum(1 << place for place, i in enumerate(places) if member >> i & 1)

        def sides(some: Iterable[Sides]) -> tuple[Sides, ...]:
            return tuple(Sides(inside(a), inside(b)) for a, b in some if a & part)

        return Rules(
            names=tuple(self.names[i] for i in places),
            caps=tuple(Cap(inside(m), low, high) for m, low, high in self.caps if m & part),
            implications=sides(self.implications),
            exclusions=sides(self.exclusions),
        )

    def shown(self, member: int) -> tuple[str, ...]:
        """The names behind the bits."""
        return tuple(self.names[i] for i in bits(member))


def bits(member: int) -> Iterator[int]:
    """The places of the ones, lowest first."""
    for i, bit in enumerate(reversed(f"{member:b}")):
        if bit == "1":
            yield i


class RulesDraft:
    """Rules about some databases, fact by fact; names become bits, and unknown ones are refused."""

    def __init__(self, names: Sequence[str]) -> None:
        """Nothing is known yet."""
        self._names, self._place = names, {name: i for i, name in enumerate(names)}
        self._caps: list[Cap] = []
        self._implications: list[Sides] = []
        self._exclusions: list[Sides] = []
        self._listed: frozenset[int] | None = None

    def _mask(self, names: Iterable[str]) -> int:
        member = 0
        for name in names:
            if name not in self._place:
                near = get_close_matches(name, self._place, n=1)
                known = len(self._place)
                raise UnknownDatabase(name, near=near[0] if near else None, known=known)
            member |= 1 << self._place[name]
        return member

    def limit(self, names: Iterable[str] | None, *, low: int, high: int) -> None:
        """Of these databases (None: of all), at least and at most so many."""
        group = self._mask(self._names if names is None else names)
        self._caps.append(Cap(group, low, min(high, group.bit_count())))

    def exclude(self, a: Iterable[str], b: Iterable[str]) -> None:
        """Nobody who is in one of a is in any of b."""
        self._exclusions.append(Sides(self._mask(a), self._mask(b)))

    def imply(self, a: Iterable[str], b: Iterable[str]) -> None:
        """Whoever is in one of a is in all of b."""
        self._implications.append(Sides(self._mask(a), self._mask(b)))

    def only(self, vectors: Iterable[Iterable[str]]) -> None:
        """No other memberships than these."""
        some = frozenset(map(self._mask, vectors))
        self._listed = some if self._listed is None else self._listed & some

    def rules(self) -> Rules:
        """All of it; of several limits for a group of databases the strictest."""
        return Rules(
            names=tuple(self._names),
            caps=tuple(_merged(self._caps)),
            implications=tuple(dict.fromkeys(self._implications)),
            exclusions=tuple(dict.fromkeys(self._exclusions)),
            listed=self._listed,
        )


def resolve(fact: Fact, names: Sequence[str]) -> Rules:
    """Look the facts' names up among the databases.

    Raises:
        UnknownDatabase: a fact names a database that there is not.
        ContradictoryFacts: two facts leave nobody any membership at all (found wherever the
            memberships can be listed, or limits alone decide it).
    """
    draft = RulesDraft(names)
    fact.narrow(draft)
    rules = draft.rules()
    _refuse_contradictions(rules, fact)
    return rules


def _merged(caps: list[Cap]) -> Iterator[Cap]:
    """One limit for each group of databases: the strictest."""
    by_mask: dict[int, Cap] = {}
    for cap in caps:
        old = by_mask.get(cap.mask, cap)
        by_mask[cap.mask] = Cap(cap.mask, max(old.low, cap.low), min(old.high, cap.high))
    return iter(by_mask.values())


def _refuse_contradictions(rules: Rules, fact: Fact) -> None:
    known = rules.memberships()
    if known is not None:
        if not known:
            raise ContradictoryFacts(repr(fact))
        return
    if any(cap.low > min(cap.high, cap.mask.bit_count()) for cap in rules.caps):
        raise ContradictoryFacts(repr(fact))
    # what is demanded of groups that do not overlap must fit into every group that holds them
    demanded = sorted((c for c in rules.caps if c.low), key=lambda c: c.mask.bit_count())
    apart: list[Cap] = []
    for cap in demanded:
        if not any(cap.mask & other.mask for other in apart):
            apart.append(cap)
    for cap in rules.caps:
        if sum(c.low for c in apart if c.mask & cap.mask == c.mask) > cap.high:
            raise ContradictoryFacts(repr(fact))
