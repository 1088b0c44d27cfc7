"""The policy ``blocks``: every month, quarter or year of the data has a budget of its own.

A block is a database. A charge names the blocks whose rows it reads and uses its cost on each of
them; it fits if every one of them can pay. New blocks open by themselves as time passes, since an
absent total is zero; nothing is ever set back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.accounting.membership.time_blocks import (
    Calendar,
    block_of,
    blocks_between,
    check_blocks,
    person_total,
    span_of,
)
from quaestor.accounting.releases import ApproxDP
from quaestor.errors import InvalidParameter
from quaestor.ledger import stored_text as texts
from quaestor.ledger.policies.base import register, releases_from_dicts
from quaestor.ledger.policies.open import Open
from quaestor.ledger.theory import filter_from_dict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from quaestor.accounting.filters.base import Filter
    from quaestor.accounting.releases import Release
    from quaestor.ledger.policies.base import Terms

__all__ = ["Blocked"]


@register
@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked(Open):
    """Analysts choose everything as they go; a filter says, for each block, when to stop.

    The account's epsilon and delta are *each block's*. It has one dataset and compares the data
    with and without a person: facts about several datasets say nothing of blocks.

    Args:
        every: how long a block is: ``month``, ``quarter`` or ``year``.
        first: the first block there is; rows before it are never read.
        most: how many blocks a person is in at most; None if nothing is claimed of that.
        enforced: whether the curator keeps a person's earliest ``most`` blocks only; otherwise
            ``most`` is believed, and printed as an assumption.
        filter: what every block is held to; chosen by ``expected`` if it is left out.
        expected: what will mostly be asked of one block.
        predecessor: a closed account on the same dataset, whose whole past is charged to every
            block that there is when this one opens: see :meth:`Ledger.open_account`.
        dates: the tables whose rows are dated, each with the column that does it, in order. The
            curator fixes them when it opens the account: rows that were dated by another column
            would be in other blocks, and could be paid for twice.

    >>> policy = Blocked(every="month", first="2024-01", most=3)
    >>> policy.kind, policy.most
    ('blocks', 3)
    """

    kind: ClassVar[str] = "blocks"
    by_blocks: ClassVar[bool] = True
    composition: ClassVar[str] = (
        "Fully adaptive composition by a privacy filter for each block of time, fixed in advance; "
        "concurrent composition of the blocks that a person is in"
    )
    every: str
    first: str
    most: int | None = None
    enforced: bool = False
    filter: Filter | None = None
    expected: tuple[Release, ...] = field(default=())
    predecessor: str = ""
    dates: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Check the calendar and the numbers."""
        if self.predecessor:
            texts.name("predecessor", self.predecessor)
        span_of(self.first, self.every)
        if self.most is not None:
            person_total(epsilon=0.0, delta=0.0, most=self.most)
        if type(self.enforced) is not bool or (self.enforced and self.most is None):
            valid = "given with most (--most 3): the number of blocks of a person that count"
            raise InvalidParameter("enforced", self.enforced, valid)
        for table, column in self.dates:
            texts.name("dates", table)
            texts.name("dates", column)
        if list(self.dates) != sorted(dict(self.dates).items()):
            raise InvalidParameter("dates", self.dates, "one column per table, in order")
        if self.enforced and len(self.dates) > 1:
            valid = (
                "in one table only, when blocks are enforced: date one table and join the "
                "others to it, or omit enforced"
            )
            raise InvalidParameter("dates", self.dates, valid)
        Open.__post_init__(self)

    def to_dict(self) -> dict[str, Any]:
        """The policy as plain JSON values."""
        return {
            **Open.to_dict(self),
            "every": self.every,
            "first": self.first,
            "most": self.most,
            "enforced": self.enforced,
            **({"predecessor": self.predecessor} if self.predecessor else {}),
            **({"dates": [list(each) for each in self.dates]} if self.dates else {}),
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Blocked:
        """Read back what :meth:`to_dict` wrote."""
        chosen = described["filter"]
        return cls(
            every=described["every"],
            first=described["first"],
            most=described["most"],
            enforced=described["enforced"],
            filter=None if chosen is None else filter_from_dict(chosen),
            expected=releases_from_dicts(described["expected"]),
            predecessor=described.get("predecessor", ""),
            dates=tuple((table, column) for table, column in described.get("dates", ())),
        )

    def completed(self, terms: Terms) -> Open:
        """With a filter; an account whose promise blocks would not carry is refused."""
        if len(terms.datasets) > 1:
            listed = ", ".join(terms.datasets)
            raise InvalidParameter(
                "datasets", listed, "one dataset: an account with blocks has just one"
            )
        if terms.membership is not None or terms.neighbours != "add_remove":
            raise InvalidParameter(
                "membership",
                terms.membership or terms.neighbours,
                ("left out, with neighbours add_remove: accounts with blocks support nothing else"),
            )
        return Open.completed(self, terms)

    @property
    def past(self) -> str:
        """The predecessor."""
        return self.predecessor

    def charged_past(self, predecessor: Terms) -> tuple[Release, ...]:
        """What stands for all that an account has ever released: its guarantee, as one release."""
        return (ApproxDP(epsilon=predecessor.epsilon, delta=predecessor.delta),)

    @property
    def calendar(self) -> Calendar:
        """How time is divided, and how many blocks of a person the curator must keep."""
        kept = self.most if self.enforced else None
        return Calendar(self.every, self.first, kept, self.dates)

    def in_all(self, terms: Terms) -> tuple[float, float] | None:
        """What a person loses who is in at most as many blocks as is claimed."""
        if self.most is None:
            return None
        total = person_total(epsilon=terms.epsilon, delta=terms.delta, most=self.most)
        return None if total.delta >= 1.0 else (total.epsilon, total.delta)

    def checked_blocks(self, blocks: object) -> tuple[str, ...]:
        """The blocks that a charge names, in order; there is at least one."""
        listed = blocks if isinstance(blocks, list | tuple | str) else ()
        return check_blocks(listed, every=self.every, first=self.first)

    def blocks_until(self, time: str) -> tuple[str, ...]:
        """The blocks from the first to that of a time."""
        return blocks_between(
            self.first, block_of(texts.parsed(time).date(), self.every), self.every
        )

    def refuse_later(self, blocks: tuple[str, ...], time: str) -> None:
        """A block that has not begun has no budget."""
        last = block_of(texts.parsed(time).date(), self.every)
        if blocks and blocks[-1] > last:
            raise InvalidParameter("blocks", blocks[-1], f"not after {last}, the current block")

    def about(self, terms: Terms) -> Iterator[str]:
        """What holds of a block, and what of a person in several."""
        each = f"({terms.epsilon!r}, {terms.delta!r})-differentially private"
        together = "even if all analysts put what they see together"
        yield (
            f"Time is divided by {self.every}s, from {self.first} on, and every {self.every} has "
            f"a budget of its own. For every person whose dated rows are all of one {self.every}, "
            f"all answers together are {each}, {together}."
        )
        yield "Compared are the data without a person and the same data with that person."
        if self.most is None:
            yield (
                f"Nothing is claimed of how many {self.every}s a person is in, nor of what a "
                f"person in several of them loses in all."
            )
            return
        total = person_total(epsilon=terms.epsilon, delta=terms.delta, most=self.most)
        if total.delta >= 1.0:
            yield f"In all, nothing is promised to a person in {self.most} {self.every}s."
            return
        yield (
            f"For a person in at most {self.most} of them, all answers together, however long "
            f"time goes on, are ({total.epsilon!r}, {total.delta!r})-differentially private."
        )
        if self.enforced:
            yield (
                f"That holds for everybody: of each person only rows of the earliest {self.most} "
                f"{self.every}s count. It is assumed that rows are only added as time passes: that "
                "none arrives late, gets another date or is deleted, once its person was asked "
                "about."
            )
        else:
            yield (
                f"It is assumed, not checked, that no person is in more than {self.most}: "
                "people who are have no guarantee in total."
            )

    def words(self) -> Iterator[str]:
        """What the filter says of each block, and who fixed it."""
        yield (
            "A charge counts in every block that it names, and what answers it reads no rows but "
            "theirs. New blocks open as time passes; no total is ever set back."
        )
        if self.predecessor:
            yield (
                f"The guarantee of account {self.predecessor!r}, its whole past, was charged to "
                f"every {self.every} that there was when this account opened. It is assumed that "
                "everybody in the data had a row in one of them then: who had rows without a "
                f"date, before {self.first} or dated later only, has lost that guarantee besides."
            )
        first, *rest = Open.words(self)
        yield f"For each block: {first}" if rest else first
        yield from rest
