"""What the ledger's tests share: definitions, and a way around the ledger into its store."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import psycopg

from quaestor.accounting.filters.base import basic_filter
from quaestor.accounting.releases import ApproxDP, PureDP, Release, Repeated
from quaestor.ledger import AccountDefinition, Open, Share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from quaestor.ledger import Account, Entry

Row = tuple[Any, ...]


def definition(name: str = "trial", **changes: Any) -> AccountDefinition:
    """An account on one dataset in which epsilons add up, unless something else is said."""
    given: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "datasets": ("patients",), **changes}
    adding = basic_filter(epsilon=given["epsilon"], delta=given["delta"])
    return AccountDefinition(name=name, **{"policy": Open(filter=adding), **given})


def share(analyst: str, epsilon: float, delta: float = 1e-6) -> Share:
    """A quota in which epsilons add up."""
    adding = basic_filter(epsilon=epsilon, delta=delta)
    return Share(analyst=analyst, epsilon=epsilon, delta=delta, filter=adding)


@contextmanager
def around(location: str) -> Iterator[Callable[..., list[Row]]]:
    """Statements straight to the store, past everything that the ledger would check."""
    if "://" in location:
        with psycopg.connect(location) as connection:

            def run(statement: str, *values: object) -> list[Row]:
                written: Any = statement.replace("?", "%s")
                cursor = connection.execute(written, values)
                return cursor.fetchall() if cursor.description else []

            yield run
    else:
        with closing(sqlite3.connect(location, isolation_level=None)) as file:
            yield lambda statement, *values: file.execute(statement, values).fetchall()


def epsilon_of(releases: Iterable[Release]) -> Fraction:
    """Basic composition by hand."""
    total = Fraction(0)
    for release in releases:
        count = release.count if isinstance(release, Repeated) else 1
        single = release.release if isinstance(release, Repeated) else release
        assert isinstance(single, PureDP | ApproxDP)
        total += count * Fraction(single.epsilon)
    return total


def spent(entries: Iterable[Entry]) -> Fraction:
    """What entries add up to, without a look at any balance."""
    return sum((epsilon_of(e.releases) for e in entries if e.status != "void"), Fraction(0))


def remaining_epsilon(account: Account, **which: str) -> Fraction:
    """What the account itself says is left of its epsilon."""
    (found,) = [b for b in account.remaining(**which) if b.meter == "epsilon" and not b.analyst]
    assert found.remaining is not None
    return found.remaining
