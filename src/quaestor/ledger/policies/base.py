"""What an account keeps to, and what stands against its charges: policies and limits.

The policy decides which theorem is sound. The optimal theorems are asked once, about what is
declared, before the account opens; from then on only slots are counted. A filter is fixed before
the first charge, and from then on only its meters are read. There is no way from what was really
charged back into an optimal theorem.

A policy is one file of this folder: its description, limit, check, words and JSON. It is known to
ledgers once it is registered: see :func:`register`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

from quaestor.accounting.releases.codec import release_from_dict
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from quaestor.accounting.filters.base import Filter
    from quaestor.accounting.membership.facts import Fact
    from quaestor.accounting.membership.time_blocks import Calendar
    from quaestor.accounting.releases import Release
    from quaestor.ledger.amounts import Totals
    from quaestor.ledger.price import Balance, MeterReading, Request

__all__ = [
    "Limit",
    "Policy",
    "Terms",
    "policy_from_dict",
    "register",
    "releases_from_dicts",
    "unregister",
]


class Terms(Protocol):
    """What a policy knows of the account that keeps to it: see ``AccountDefinition``."""

    @property
    def name(self) -> str:
        """The account's name."""

    @property
    def epsilon(self) -> float:
        """The target."""

    @property
    def delta(self) -> float:
        """The target."""

    @property
    def datasets(self) -> tuple[str, ...]:
        """What the account covers."""

    @property
    def membership(self) -> Fact | None:
        """What is believed of who is in which dataset."""

    @property
    def neighbours(self) -> str:
        """Which worlds are compared."""


class Limit(ABC):
    """One limit of an account: its own, or an analyst's quota.

    ``spent`` is what was used of its meters so far, by dataset; a limit itself remembers nothing.
    """

    __slots__ = ()

    filter: Filter | None = None
    """The filter whose meters it reads; None where it counts something else."""

    @abstractmethod
    def costs(self, request: Request) -> Totals:
        """What the request uses, by meter."""

    @abstractmethod
    def after(self, spent: Mapping[str, Totals], request: Request) -> Totals | None:
        """The totals of the request's dataset with it added; None if it does not fit."""

    @abstractmethod
    def readings(self, spent: Mapping[str, Totals], request: Request) -> tuple[MeterReading, ...]:
        """What each meter says about the request."""

    @abstractmethod
    def short(self, readings: tuple[MeterReading, ...]) -> MeterReading | None:
        """The meter that is in the way, if any."""

    @abstractmethod
    def times(self, spent: Mapping[str, Totals], request: Request) -> int:
        """How many times the request would fit, one after another."""

    @abstractmethod
    def holds(self, spent: Mapping[str, Totals]) -> bool:
        """Whether what was spent is within the limit."""

    @abstractmethod
    def excess(self, spent: Mapping[str, Totals]) -> str:
        """What was spent beyond the limit, in words; only where it does not hold."""

    @abstractmethod
    def balances(self, spent: Mapping[str, Totals], dataset: str) -> tuple[Balance, ...]:
        """How every meter stands on one dataset."""


class Policy(ABC):
    """What an account promises to keep to. Frozen, and fixed for good when the account opens."""

    __slots__ = ()

    kind: ClassVar[str]
    """Its name in JSON, and on the command line."""
    by_query: ClassVar[bool] = False
    """Whether a charge is told from others by its query as well as by its releases."""
    chosen_freely: ClassVar[bool] = False
    """Whether analysts choose the noise as they go: less may be offered where much does not fit."""
    takes_realised: ClassVar[bool] = False
    """Whether its limit holds of histories of which nobody states that it was fixed before."""
    by_blocks: ClassVar[bool] = False
    """Whether each block of time has a budget of its own; only then is it asked about blocks."""
    composition: ClassVar[str]
    """How losses are added up, for reports."""

    checked_again: ClassVar[bool] = True
    """Whether it was accepted by theorems that may be mended later: see ``check_again``."""

    @property
    def nothing_chosen(self) -> bool:
        """Whether not even questions can be chosen by answers."""
        return False

    @property
    def needs_query_text(self) -> bool:
        """Whether a charge must present the text of its query, and not only a name."""
        return False

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The policy as plain JSON values, with its ``kind``."""

    @classmethod
    @abstractmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Self:
        """Read back what :meth:`to_dict` wrote."""

    def datasets(self) -> Iterable[str]:
        """The datasets that it names; all must be the account's."""
        return ()

    def checked_blocks(self, blocks: object) -> tuple[str, ...]:
        """The blocks of time that a charge names; an account without blocks takes none."""
        if blocks != ():
            raise InvalidParameter("blocks", blocks, "left out: the account has no blocks")
        return ()

    @property
    def calendar(self) -> Calendar | None:
        """How time is divided, where each block of time has a budget of its own."""
        return None

    def in_all(self, terms: Terms) -> tuple[float, float] | None:
        """What the whole account is, as one epsilon and delta; None if it promises no such thing.

        Where each block of time has a budget of its own, the account's figures are a block's.
        """
        return terms.epsilon, terms.delta

    def blocks_until(self, time: str) -> tuple[str, ...]:
        """The blocks of time that there are at a time; none where budgets are not by blocks."""
        del time
        return ()

    @property
    def past(self) -> str:
        """An account whose whole past is charged when this one opens; empty if there is none."""
        return ""

    def charged_past(self, predecessor: Terms) -> tuple[Release, ...]:
        """What is charged for it."""
        raise NotImplementedError(predecessor)

    def refuse_later(self, blocks: tuple[str, ...], time: str) -> None:  # noqa: B027
        """Refuse a charge to blocks that have not begun, by the ledger's clock."""

    def about(self, terms: Terms) -> Iterable[str] | None:
        """What holds, of whom, where that is not simply all answers together; else None."""
        del terms
        return None

    def expected_releases(self) -> tuple[Release, ...]:
        """What will mostly be asked, as far as it says: filters of quotas are chosen for it."""
        return ()

    def completed(self, terms: Terms) -> Policy:
        """The policy with everything fixed that was left to be chosen."""
        del terms
        return self

    @abstractmethod
    def limit(self, terms: Terms) -> Limit:
        """What stands against the charges of an account."""

    @abstractmethod
    def check_new(self, terms: Terms) -> None:
        """Refuse a new account whose target it would not keep, or cannot be shown to.

        Raises:
            TargetOutOfReach: what it allows loses more; the message says what it would need.
            InvalidParameter: no theorem is known to hold; the message says what to do instead.
        """

    def check_again(self, terms: Terms) -> None:  # noqa: B027  # for those that declare something
        """Refuse what an earlier version accepted, and today's theorems do not prove.

        Raises:
            QuaestorError: with the reason.
        """

    def planned_epsilon(self, terms: Terms) -> float | None:
        """What all that is declared loses, at the account's delta; None where nothing is."""
        del terms
        return None

    @abstractmethod
    def words(self) -> Iterator[str]:
        """What was fixed in advance, by whom, and what may be chosen: sentences of the promise."""


_KINDS: dict[str, type[Policy]] = {}
_OURS = ("blocks", "dashboard", "open", "planned")
"""Our own kinds, each in the file of its name, which is imported when one is read."""

_Class = TypeVar("_Class", bound=type[Policy])


def register(policy: _Class) -> _Class:
    """Make a policy known to ledgers, by its kind."""
    _KINDS[policy.kind] = policy
    return policy


def unregister(policy: type[Policy]) -> None:
    """Forget a policy: ledgers that have accounts of it cannot be read from here on."""
    del _KINDS[policy.kind]


def policy_from_dict(described: Mapping[str, Any]) -> Policy:
    """Read back what ``to_dict`` wrote."""
    kind = described["kind"]
    if kind not in _KINDS and kind in _OURS:
        import_module(f"{__package__}.{kind}")
    found = _KINDS.get(kind)
    if found is None:
        raise InvalidParameter("policy", kind, "planned, dashboard or open")
    return found.from_dict(described)


def releases_from_dicts(listed: Iterable[Any]) -> tuple[Release, ...]:
    """Releases from their JSON values."""
    return tuple(map(release_from_dict, listed))
