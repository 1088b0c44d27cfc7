r"""The heaviest comparison: what a meter has added up for the person it can matter most to.

Every database has a weight, the sum of what its releases cost on one meter. Two worlds cost what
the databases weigh in which they differ, whatever the order in which they were asked.

*A record that changes inside its database* costs more than the two ends of the change apart: with
:math:`w_1` for one change and :math:`w_2 \ge 2w_1` for two, the memberships I and J cost
:math:`w_1(I \triangle J) + w_2(I \cap J) \le \tfrac12(w_2(I) + w_2(J))`, which is at most the
larger of :math:`w_2(I)` and :math:`w_2(J)`; and that is attained by one membership in which all
records change. So it is the same question as for adding a person, with the weights of two changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import TYPE_CHECKING

from quaestor.accounting.membership import NEIGHBOURS
from quaestor.accounting.membership.facts import All, Fact
from quaestor.accounting.membership.nested_limits import Forest
from quaestor.accounting.membership.rules import FEW, Rules, bits, resolve
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["heaviest", "untouched"]

_MOST_PAIRS = 4_000  # of listed memberships that are looked at one by one
_FEW_MEMBERS = 64
_NOBODY = Fraction(0)


def heaviest(
    weights: Mapping[str, Fraction],
    *,
    membership: Fact | None = None,
    neighbours: str = "add_remove",
    twice: Mapping[str, Fraction] | None = None,
) -> Fraction:
    """The largest sum of weights over databases in which two compared memberships differ.

    Args:
        weights: for each database what one changed record costs there, on one meter.
        membership: what is publicly known of the databases a person is in; nothing if left out.
        neighbours: which worlds are compared, as in
            :func:`~quaestor.accounting.membership.compose_across`.
        twice: for ``"replace_record"``, what a replaced record costs: the meter's costs of the
            releases :meth:`~quaestor.accounting.releases.Release.with_record_replaced`. It is not
            twice the weight, except for plain epsilons, and so must be given.

    Exact where the facts are nested upper limits, where no more than 12 databases hang together by
    facts, or where memberships are listed; otherwise never too little.

    >>> from quaestor.accounting.membership.facts import AtMost
    >>> spent = {"north": Fraction(1, 2), "south": Fraction(1, 4), "west": Fraction(1, 8)}
    >>> heaviest(spent, membership=AtMost(1))
    Fraction(1, 2)
    >>> heaviest(spent, membership=AtMost(1), neighbours="replace")
    Fraction(3, 4)
    """
    fact = All() if membership is None else membership
    if not isinstance(fact, Fact):
        raise InvalidParameter("membership", membership, "a fact, such as AtMost(365)")
    if neighbours not in NEIGHBOURS:
        raise InvalidParameter("neighbours", neighbours, f"one of {', '.join(NEIGHBOURS)}")
    if neighbours == "replace_record":
        weights = _two_changes(weights, twice)
    if any(weight < 0 for weight in weights.values()):
        raise InvalidParameter("weights", "a negative one", "costs, which are never below 0")
    values = tuple(weights.values())
    total = _NOBODY
    for part in _connected_parts(fact, tuple(weights), neighbours == "replace"):
        total += part.heaviest(tuple(values[i] for i in part.places))
    return total


def untouched(
    names: Sequence[str], *, membership: Fact | None = None, neighbours: str = "add_remove"
) -> tuple[str, ...]:
    """The databases on which no two compared worlds differ: nothing is promised about them.

    All of them, where no more than 12 databases hang together by facts, or where memberships are
    listed; otherwise those that nobody at all can be in.

    >>> from quaestor.accounting.membership.facts import ExactlyOne, Implies, All
    >>> everybody = All(ExactlyOne(["north", "south"]), Implies(["north", "south"], "register"))
    >>> untouched(["north", "south", "register"], membership=everybody, neighbours="replace")
    ('register',)
    >>> untouched(["north", "south", "register"], membership=everybody)
    ()
    """
    if neighbours not in NEIGHBOURS:
        raise InvalidParameter("neighbours", neighbours, f"one of {', '.join(NEIGHBOURS)}")
    apart = neighbours == "replace"
    places: set[int] = set()
    for part in _connected_parts(All() if membership is None else membership, tuple(names), apart):
        inside = (1 << len(part.places)) - 1
        members = part.rules.memberships()
        if members is None:
            differing = inside
            for cap in part.rules.caps:
                differing &= inside if cap.high else ~cap.mask
        else:
            common = inside if apart else 0
            differing = 0
            for member in members:
                differing |= member
                common &= member
            differing &= ~common
        places.update(part.places[i] for i in bits(inside & ~differing))
    return tuple(names[i] for i in sorted(places))


def _two_changes(
    weights: Mapping[str, Fraction], twice: Mapping[str, Fraction] | None
) -> dict[str, Fraction]:
    if twice is None or set(twice) != set(weights):
        raise InvalidParameter(
            "twice", twice, "given for every database where a record may be replaced"
        )
    return {name: max(twice[name], 2 * weight) for name, weight in weights.items()}


@lru_cache(maxsize=64)
def _connected_parts(fact: Fact, names: tuple[str, ...], apart: bool) -> tuple[_Part, ...]:  # noqa: FBT001
    """Groups of databases that no fact connects: the worst in each, all at once."""
    rules = resolve(fact, names)
    if rules.listed is not None:
        return (_Part(places=tuple(range(len(names))), rules=rules, apart=apart),)
    return tuple(
        _Part(places=tuple(bits(part)), rules=rules.restricted(list(bits(part))), apart=apart)
        for part in rules.connected_parts()
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Part:
    """Databases that hang together, the facts about them, and the answers given before."""

    places: tuple[int, ...]
    rules: Rules
    apart: bool

    def heaviest(self, weights: tuple[Fraction, ...]) -> Fraction:
        """The worst inside this part; remembered, as one charge changes one part only."""
        return _worst(self, weights)


@lru_cache(maxsize=1024)
def _worst(part: _Part, weights: tuple[Fraction, ...]) -> Fraction:
    if len(weights) == 1 and not part.rules.caps and part.rules.listed is None:
        return weights[0]
    scale = lcm(*(weight.denominator for weight in weights))
    whole = [weight.numerator * (scale // weight.denominator) for weight in weights]
    return Fraction(_worst_whole(part, whole), scale)


def _worst_whole(part: _Part, weights: Sequence[int]) -> int:
    rules = part.rules
    if rules.listed is not None:
        return _listed(part, weights)
    forest = Forest.of(rules.caps)
    nested = forest.complete and not rules.implications and not rules.exclusions
    lower = any(cap.low for cap in rules.caps)
    if len(weights) <= FEW and not (nested and not (part.apart and lower)):
        sums = _subset_sums(weights)
        return max(map(sums.__getitem__, _differences(part)), default=0)
    limits = forest.doubled() if part.apart else forest
    order = sorted(range(len(weights)), key=lambda i: -weights[i])
    return _sum(weights, limits.greedy(order))


def _sum(weights: Sequence[int], member: int) -> int:
    return sum(weights[i] for i in bits(member))


def _subset_sums(weights: Sequence[int]) -> list[int]:
    sums = [0]
    for weight in weights:
        sums += [weight + each for each in sums]
    return sums


def _listed(part: _Part, weights: Sequence[int]) -> int:
    """Memberships one by one, the heaviest first, until no other pair can differ in more."""
    members = _members(part)
    heavy = sorted(((_sum(weights, member), member) for member in members), reverse=True)
    if not part.apart:
        return heavy[0][0]
    worst = looked = 0
    for i, (first, a) in enumerate(heavy):
        for second, b in heavy[i + 1 :]:
            if first + second <= worst:
                break
            if looked == _MOST_PAIRS:  # what is left differs in no more than both have
                later = sum(weight for weight, _ in heavy[i + 1 : i + 3])
                return max(worst, first + second, later)
            worst, looked = max(worst, _sum(weights, a ^ b)), looked + 1
    return worst


@lru_cache(maxsize=64)
def _members(part: _Part) -> list[int]:
    return part.rules.memberships() or []


@lru_cache(maxsize=64)
def _differences(part: _Part) -> tuple[int, ...]:
    """All sets in which two compared memberships can differ."""
    members = _members(part)
    if not part.apart:
        return tuple(members)
    if len(members) <= _FEW_MEMBERS:
        return tuple({a ^ b for a in members for b in members})
    import numpy as np

    counts = np.zeros(1 << len(part.places), np.int64)
    counts[members] = 1
    # how many pairs have each difference: a convolution, which the Walsh transform multiplies
    pairs = _walsh(_walsh(counts) ** 2)
    return tuple(np.flatnonzero(pairs).tolist())


def _walsh(values: NDArray[np.int64]) -> NDArray[np.int64]:
    import numpy as np

    step = 1
    while step < values.size:
        halves = values.reshape(-1, 2, step)
        both = (halves[:, 0] + halves[:, 1], halves[:, 0] - halves[:, 1])
        values = np.stack(both, axis=1).reshape(-1)
        step *= 2
    return values
