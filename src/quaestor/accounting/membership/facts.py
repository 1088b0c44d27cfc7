"""A small language of public facts: where one person's records can be.

Facts are values, like releases: frozen, hashable, readable when printed, and they go through JSON
without loss. They speak of the databases that one person is in. A fact must be *public* and true of
everybody, or of everybody whom the promise is to protect.

>>> print(All(AtMost(365), Exclusive("adults", "children")))
All(AtMost(365), Exclusive('adults', 'children'))
"""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any

from quaestor.accounting.releases.base import check_count
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.membership.rules import RulesDraft

__all__ = [
    "FACTS",
    "All",
    "AtMost",
    "ExactlyOne",
    "Exclusive",
    "Fact",
    "Implies",
    "Vectors",
    "fact_from_dict",
    "fact_from_json",
]

Names = tuple[str, ...]


class Fact:
    """What is publicly known about the databases that one person can be in.

    >>> fact = AtMost(2, of=["north", "south", "west"])
    >>> isinstance(fact, Fact), fact_from_json(fact.to_json()) == fact
    (True, True)
    """

    __slots__ = ()

    def narrow(self, rules: RulesDraft) -> None:
        """Add what it says to the rules about some databases."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The fact as plain JSON values, under the name of its type."""
        described: dict[str, Any] = {"fact": type(self).__name__}
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            described[field.name] = _plain(getattr(self, field.name))
        return described

    def to_json(self) -> str:
        """The fact as JSON text; :func:`quaestor.fact_from_json` reads it back."""
        return json.dumps(self.to_dict(), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Fact):
        return value.to_dict()
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


def _names(field: str, value: Any) -> Names:
    """One name, or several: a tuple of different ones, in their order."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, list | tuple | set | frozenset) or not all(
        isinstance(name, str) for name in names
    ):
        raise InvalidParameter(field, value, "the name of a database, or a list of names")
    listed = sorted(names) if isinstance(names, set | frozenset) else list(names)
    if len(set(listed)) < len(listed):
        raise InvalidParameter(field, value, "a list of different names")
    return tuple(listed)


def _some_names(field: str, value: Any) -> Names:
    names = _names(field, value)
    if not names:
        raise InvalidParameter(field, value, "at least one name")
    return names


def _shown(names: Sequence[str]) -> str:
    return repr(names[0]) if len(names) == 1 else repr(list(names))


@dataclass(frozen=True, slots=True, repr=False)
class AtMost(Fact):
    """Nobody is in more than ``m`` databases, or in more than ``m`` of those named.

    >>> AtMost(2, of=["spring", "summer", "autumn"])
    AtMost(2, of=['spring', 'summer', 'autumn'])
    """

    m: int
    of: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Check the number and the names."""
        object.__setattr__(self, "m", check_count("m", self.m, smallest=0))
        if self.of is not None:
            object.__setattr__(self, "of", _some_names("of", self.of))

    def __repr__(self) -> str:
        """The call that makes this fact."""
        return f"AtMost({self.m})" if self.of is None else f"AtMost({self.m}, of={list(self.of)!r})"

    def narrow(self, rules: RulesDraft) -> None:
        """An upper limit."""
        rules.limit(self.of, low=0, high=self.m)


@dataclass(frozen=True, slots=True, repr=False)
class ExactlyOne(Fact):
    """Everybody is in exactly one database, or in exactly one of those named.

    >>> ExactlyOne()
    ExactlyOne()
    """

    of: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Check the names."""
        if self.of is not None:
            object.__setattr__(self, "of", _some_names("of", self.of))

    def __repr__(self) -> str:
        """The call that makes this fact."""
        return "ExactlyOne()" if self.of is None else f"ExactlyOne(of={list(self.of)!r})"

    def narrow(self, rules: RulesDraft) -> None:
        """Both limits."""
        rules.limit(self.of, low=1, high=1)


@dataclass(frozen=True, slots=True, repr=False)
class Exclusive(Fact):
    """Nobody who is in one of ``a`` is in any of ``b``; each is a name or a list of names.

    >>> Exclusive(["ads", "clicks"], "premium")
    Exclusive(['ads', 'clicks'], 'premium')
    """

    a: Sequence[str]
    b: Sequence[str]

    def __post_init__(self) -> None:
        """Check that the two sides are names, and different ones."""
        _two_sides(self)

    def __repr__(self) -> str:
        """The call that makes this fact."""
        return f"Exclusive({_shown(self.a)}, {_shown(self.b)})"

    def narrow(self, rules: RulesDraft) -> None:
        """Two sides that nobody is on both of; of two databases, a limit of one."""
        if len(self.a) == len(self.b) == 1:
            rules.limit((*self.a, *self.b), low=0, high=1)
        else:
            rules.exclude(self.a, self.b)


@dataclass(frozen=True, slots=True, repr=False)
class Implies(Fact):
    """Whoever is in one of ``a`` is in all of ``b``; each is a name or a list of names.

    >>> Implies("surgery", "admissions")
    Implies('surgery', 'admissions')
    """

    a: Sequence[str]
    b: Sequence[str]

    def __post_init__(self) -> None:
        """Check that the two sides are names, and different ones."""
        _two_sides(self)

    def __repr__(self) -> str:
        """The call that makes this fact."""
        return f"Implies({_shown(self.a)}, {_shown(self.b)})"

    def narrow(self, rules: RulesDraft) -> None:
        """One side that brings the other with it."""
        rules.imply(self.a, self.b)


def _two_sides(fact: Exclusive | Implies) -> None:
    for side in ("a", "b"):
        object.__setattr__(fact, side, _some_names(side, getattr(fact, side)))
    both = sorted(set(fact.a) & set(fact.b))
    if both:
        raise InvalidParameter("b", both[0], "other databases than those of a")


@dataclass(frozen=True, slots=True, repr=False)
class Vectors(Fact):
    """The memberships that there are, one by one: each is the list of databases a person is in.

    >>> Vectors([["common", "ads"], ["common", "premium"]])
    Vectors([['common', 'ads'], ['common', 'premium']])
    """

    vectors: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        """Check that every vector is a list of names; an empty one is a person in no database."""
        if isinstance(self.vectors, str) or not isinstance(self.vectors, list | tuple):
            raise InvalidParameter("vectors", self.vectors, "a list of lists of names")
        vectors = tuple(_names("vectors", vector) for vector in self.vectors)
        if not vectors:
            raise InvalidParameter("vectors", self.vectors, "at least one list of names")
        object.__setattr__(self, "vectors", vectors)

    def __repr__(self) -> str:
        """The call that makes this fact."""
        return f"Vectors({[list(vector) for vector in self.vectors]!r})"

    def narrow(self, rules: RulesDraft) -> None:
        """These and no others."""
        rules.only(self.vectors)


@dataclass(frozen=True, slots=True, repr=False, init=False)
class All(Fact):
    """All these facts hold together; ``All()`` says nothing at all.

    >>> All(AtMost(2), Implies("b", "a"))
    All(AtMost(2), Implies('b', 'a'))
    """

    facts: tuple[Fact, ...]

    def __init__(self, *facts: Fact) -> None:
        """Keep the facts; an ``All`` inside is opened."""
        flat: list[Fact] = []
        for fact in facts:
            if not isinstance(fact, Fact):
                raise InvalidParameter("membership", fact, "a fact, such as AtMost(365)")
            flat.extend(_opened(fact))
        object.__setattr__(self, "facts", tuple(flat))

    def __repr__(self) -> str:
        """The call that makes this fact."""
        return f"All({', '.join(map(repr, self.facts))})"

    def narrow(self, rules: RulesDraft) -> None:
        """One after the other."""
        for fact in self.facts:
            fact.narrow(rules)


def _opened(fact: Fact) -> Iterable[Fact]:
    return fact.facts if isinstance(fact, All) else (fact,)


# Every kind that JSON and plan files may name.
FACTS: dict[str, type[Fact]] = {
    "AtMost": AtMost,
    "ExactlyOne": ExactlyOne,
    "Exclusive": Exclusive,
    "Implies": Implies,
    "Vectors": Vectors,
    "All": All,
}


def fact_from_dict(described: object) -> Fact:
    """Read back what :meth:`Fact.to_dict` wrote."""
    if not isinstance(described, dict) or not isinstance(described.get("fact"), str):
        raise InvalidParameter("fact", described, 'an object with a "fact", such as "AtMost"')
    name, given = described["fact"], {k: v for k, v in described.items() if k != "fact"}
    kind = FACTS.get(name)
    if kind is None:
        raise InvalidParameter("fact", name, f"one of {', '.join(FACTS)}")
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # dataclasses all
    for field in given:
        if field not in known:
            raise InvalidParameter(name, field, f"given {' and '.join(known)} only")
    for field in fields(kind):  # type: ignore[arg-type]  # dataclasses all
        if field.name not in given and field.default is MISSING:
            raise InvalidParameter(name, sorted(given), f"given {field.name} too")
    return _built(kind, given)


def _built(kind: type[Fact], given: dict[str, Any]) -> Fact:
    if kind is All:
        facts = given["facts"]
        if not isinstance(facts, list):
            raise InvalidParameter("facts", facts, "a list of facts")
        return All(*map(fact_from_dict, facts))
    return kind(**given)


def fact_from_json(text: str) -> Fact:
    """Read back what :meth:`Fact.to_json` wrote.

    >>> fact_from_json('{"fact": "AtMost", "m": 365}')
    AtMost(365)
    """
    try:
        return fact_from_dict(json.loads(text))
    except InvalidParameter:
        raise
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidParameter("fact", text, f"JSON text ({problem})") from None
