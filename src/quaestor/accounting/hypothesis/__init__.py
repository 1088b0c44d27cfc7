"""Hypothesis DP: what releases tell an attacker who has a belief about memberships."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.hypothesis.priors import Prior
from quaestor.accounting.hypothesis.result import HypothesisGuarantee
from quaestor.accounting.membership.comparison import Databases, Pair
from quaestor.accounting.membership.release_order import ranked
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.hypothesis.priors import Weights
    from quaestor.accounting.releases import Release

__all__ = ["hypothesis_bounds"]

_MOST_COUPLED = 10_000


def hypothesis_bounds(
    releases: Mapping[str, Sequence[Release]] | Sequence[Release],
    *,
    null: Prior,
    alternative: Prior,
) -> HypothesisGuarantee:
    r"""What an attacker learns who compares two beliefs about where a person is.

    Theorem:
        Hartmann, Bindschaedler, West, Definition 3: both directions of
        :math:`E_{b \sim p_0} P(V^b \in S) \le e^\varepsilon E_{b \sim p_1} P(V^b \in S) + \delta`.
        The transcript is one fixed post-processing of the databases' dominating pairs, whatever b
        is, so the worst case is the hockey stick between two *mixtures of products of pairs*. It
        is computed exactly where one side is nobody and the other a coin for each database (any
        releases, by sampling), where the databases are equal and the priors know sizes only, and
        where all outcomes are few enough to list. Otherwise the bound is that of the cheapest
        coupling of the two priors, which is sound in both directions.

    Args:
        releases: for each database its releases, or a list of releases with a database for each
            (called "1", "2", ...).
        null: the one belief.
        alternative: the other one.

    >>> from quaestor.accounting.releases import PureDP
    >>> from quaestor.accounting.hypothesis.priors import PointPrior, UniformPrior
    >>> hundred = [PureDP(epsilon=0.1)] * 100
    >>> known = hypothesis_bounds(
    ...     hundred, null=PointPrior(), alternative=UniformPrior(at_least=1)
    ... )
    >>> round(known.epsilon(delta=1e-6), 6), known.method
    (2.217897, 'exact (independent memberships are sampling)')
    """
    databases = Databases.of(_named(releases))
    for name, prior in (("null", null), ("alternative", alternative)):
        if not isinstance(prior, Prior):
            raise InvalidParameter(name, prior, "a prior, such as UniformPrior(at_least=1)")
        prior.check(databases.names)
    for way in (_by_sampling, _by_listing, _by_counting, _by_coupling):
        found = way(databases, null, alternative)
        if found is not None:
            return found
    raise InvalidParameter(
        "releases",
        f"{len(databases.names)} different databases",
        "fewer, alike or comparable, for priors of this kind; "
        "compose_across bounds what any two priors tell",
    )


def _named(releases: object) -> dict[str, tuple[Release, ...]]:
    if isinstance(releases, list | tuple):
        releases = {str(place): [each] for place, each in enumerate(releases, start=1)}
    from quaestor.accounting.membership import check_databases

    return check_databases(releases)


def _kinds(databases: Databases) -> list[tuple[tuple[Release, int], ...]]:
    return [databases.kinds[kind] for kind in databases.kind_at]


def _by_sampling(databases: Databases, null: Prior, other: Prior) -> HypothesisGuarantee | None:
    """Nobody against a coin for each database."""
    from quaestor.accounting.hypothesis.sampled import by_sampling

    for nobody, prior, turned in ((null, other, False), (other, null, True)):
        coin = prior.coin()
        if coin is None or list(nobody.sizes(len(databases.names)) or ()) != [0]:
            continue
        found = by_sampling(_kinds(databases), rate=coin[0], at_least_one=coin[1])
        if found is None:
            continue
        over, under = found[::-1] if turned else found
        return HypothesisGuarantee(
            of_alternative=over,
            of_null=under,
            exact=True,
            method="exact (independent memberships are sampling)",
        )
    return None


def _by_listing(databases: Databases, null: Prior, other: Prior) -> HypothesisGuarantee | None:
    from quaestor.accounting.hypothesis.enumeration import enumerated

    priors = null.vectors(databases.names), other.vectors(databases.names)
    if priors[0] is None or priors[1] is None:
        return None
    outcomes = enumerated(_kinds(databases), priors[0], priors[1])
    if outcomes is None:
        return None
    return HypothesisGuarantee(
        of_alternative=outcomes.turned(),
        of_null=outcomes,
        exact=True,
        method="exact (every outcome of both mixtures listed)",
    )


def _sizes(databases: Databases, null: Prior, other: Prior) -> tuple[Weights, Weights] | None:
    count = len(databases.names)
    sizes = null.sizes(count), other.sizes(count)
    return None if sizes[0] is None or sizes[1] is None else (sizes[0], sizes[1])


def _by_counting(databases: Databases, null: Prior, other: Prior) -> HypothesisGuarantee | None:
    """Equal databases with one black box each, and priors about sizes."""
    from quaestor.accounting.hypothesis.exchangeable import WithFailures, counted

    sizes = _sizes(databases, null, other)
    if sizes is None or len(databases.kinds) != 1 or len(databases.kinds[0]) != 1:
        return None
    ((release, times),) = databases.kinds[0]
    if times != 1 or release.black_box is None:
        return None
    (epsilon, delta), count = release.black_box, len(databases.names)
    outcomes = counted(epsilon, count, *sizes)
    if outcomes is None:
        return None
    if delta == 0.0:
        return HypothesisGuarantee(
            of_alternative=outcomes.turned(),
            of_null=outcomes,
            exact=True,
            method="exact (equal databases: the number of answers says all)",
        )
    return HypothesisGuarantee(
        of_alternative=WithFailures(outcomes.turned(), delta=delta, count=count),
        of_null=WithFailures(outcomes, delta=delta, count=count),
        exact=False,
        method="a sound bound (equal databases: numbers of answers, or a failure)",
    )


def _by_coupling(databases: Databases, null: Prior, other: Prior) -> HypothesisGuarantee | None:
    from quaestor.accounting.hypothesis.transport import Transport

    listed = null.vectors(databases.names), other.vectors(databases.names)
    sizes = _sizes(databases, null, other)
    order = ranked(databases.kinds)
    if listed[0] and listed[1] and len(listed[0]) * len(listed[1]) <= _MOST_COUPLED:
        curves: dict[object, Profile] = {}

        def curve(a: int, b: int) -> Profile | None:
            difference = databases.difference(Pair(a, b), replaced=False)
            if difference and difference not in curves:
                curves[difference] = databases.profile(difference)
            return curves.get(difference)

        transport = Transport(listed[0], listed[1], curve)
    elif sizes is not None and order is not None:
        transport = Transport(*sizes, _nested(databases, order))
    else:
        return None
    return HypothesisGuarantee(
        of_alternative=transport,
        of_null=transport,
        exact=False,
        method="a sound bound (the cheapest coupling of the two priors)",
    )


def _nested(databases: Databases, order: Sequence[int]) -> Callable[[int, int], Profile | None]:
    """Sets of two sizes, one inside the other: they differ in so many, at worst the first ones."""
    rank = {kind: place for place, kind in enumerate(order)}
    first = sorted(range(len(databases.names)), key=lambda i: rank[databases.kind_at[i]])
    curves: dict[int, Profile] = {}

    def curve(a: int, b: int) -> Profile | None:
        apart = abs(a - b)
        if apart and apart not in curves:
            member = sum(1 << i for i in first[:apart])
            difference = databases.difference(Pair(0, member), replaced=False)
            curves[apart] = databases.profile(difference)
        return curves.get(apart)

    return curve
