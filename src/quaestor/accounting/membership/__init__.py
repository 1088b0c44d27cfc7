"""Many databases: what they tell together, given what is known about who can be where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.membership.comparison import Databases
from quaestor.accounting.membership.facts import All, Fact
from quaestor.accounting.membership.result import AcrossComposition
from quaestor.accounting.membership.rules import resolve
from quaestor.accounting.membership.worst_case import MembershipQuestion
from quaestor.accounting.releases import Release, ReleaseSum
from quaestor.accounting.releases.release_sum import check_neighbours
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["NEIGHBOURS", "check_databases", "compose_across"]

NEIGHBOURS = ("add_remove", "replace", "replace_record")


def compose_across(
    databases: Mapping[str, Sequence[Release]],
    *,
    membership: Fact | None = None,
    neighbours: str = "add_remove",
) -> AcrossComposition:
    r"""All releases of many databases together, about one person who is in some of them.

    Theorem:
        Hartmann, Bindschaedler, West, "On the Choice of Databases in Differential Privacy
        Composition", Section V-A, with its Theorem 1 proved again: an attacker who compares two
        memberships learns nothing where they agree, for there the attacker could have run the
        mechanism alone, adaptively or not. So the total is that of the databases in which they
        differ, and the guarantee is the worst such total over all memberships that the facts
        allow. Mixtures of memberships are covered, since the hockey stick is jointly convex.

    Args:
        databases: for each name what is released of that database; it may be nothing.
        membership: what is publicly known of the databases a person is in; nothing if left out.
        neighbours: which worlds are compared.

            ``"add_remove"``: a person who is in no database, against any allowed membership (the
            paper's unbounded case). The facts speak of those who are in the data: somebody who is
            not is always compared with them, even where ``ExactlyOne`` holds.

            ``"replace"``: any two allowed memberships (the paper's bounded case). It does **not**
            cover a record that changes inside a database which the person is in throughout: in
            the paper's experiment that is no change of membership.

            ``"replace_record"``: any two allowed memberships, and in databases that both have the
            record may be another one: two changes of the same release (group privacy).

    The answer is exact where the releases can all be compared and the facts are nested limits,
    where memberships are few enough to list, or where there are few kinds of databases; otherwise
    it is a sound bound, and ``exact`` and ``method`` say which. Promises of the releases are about
    adding or removing one record. ``ProbabilityVectors`` is read as p with the person, q without.

    >>> from quaestor.accounting.membership.facts import AtMost
    >>> from quaestor.accounting.releases import PureDP
    >>> hospitals = {f"hospital {i}": [PureDP(epsilon=0.01)] for i in range(1000)}
    >>> year = compose_across(hospitals, membership=AtMost(365))
    >>> round(year.epsilon(delta=1e-6), 4), round(year.naive().epsilon(delta=1e-6), 4)
    (0.7901, 1.3654)
    >>> year.method
    'exact (comparable releases: the most revealing first)'
    """
    known = check_databases(databases)
    fact = All() if membership is None else membership
    if not isinstance(fact, Fact):
        raise InvalidParameter("membership", membership, "a fact, such as AtMost(365)")
    if neighbours not in NEIGHBOURS:
        raise InvalidParameter("neighbours", neighbours, f"one of {', '.join(NEIGHBOURS)}")
    for name, releases in known.items():
        if check_neighbours(releases) == "replace_record":
            raise InvalidParameter(
                name, [str(release) for release in releases], "about adding or removing one record"
            )
    sorted_out = Databases.of(known)
    if neighbours == "replace_record":
        for kind in sorted_out.kinds:
            for release, _ in kind:
                release.with_record_replaced()  # refuses what it knows nothing of
    question = MembershipQuestion(
        databases=sorted_out, rules=resolve(fact, sorted_out.names), neighbours=neighbours
    )
    return AcrossComposition(question, fact)


def check_databases(databases: object) -> dict[str, tuple[Release, ...]]:
    """Names with lists of releases, or an error that says what is wrong with them."""
    valid = 'a dictionary such as {"north": [PureDP(epsilon=0.1)], "south": []}'
    if not isinstance(databases, dict) or not databases:
        raise InvalidParameter("databases", databases, valid)
    known: dict[str, tuple[Release, ...]] = {}
    for name, releases in databases.items():
        if not isinstance(name, str):
            raise InvalidParameter("databases", name, "named by texts")
        listed = (releases,) if isinstance(releases, Release) else releases
        listed = listed.releases if isinstance(listed, ReleaseSum) else listed
        if not isinstance(listed, list | tuple):
            raise InvalidParameter(name, releases, "a list of releases")
        for release in listed:
            if not isinstance(release, Release):
                raise InvalidParameter(name, release, "made of releases, such as PureDP(epsilon=1)")
        known[name] = tuple(listed)
    return known
