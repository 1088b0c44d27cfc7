"""What is asked of an account, and what it would cost, in numbers and in words.

An analyst who has a quota is shown the meters of that quota and no others: the account's own would
tell what other analysts have charged, and so what they were answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from quaestor.accounting.numerics.digits import rounded_down, rounded_up
from quaestor.accounting.releases import Release, ReleaseSum, counts_of
from quaestor.errors import BudgetExceeded, InvalidParameter
from quaestor.ledger import stored_text as texts
from quaestor.ledger.amounts import above, below

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

__all__ = [
    "MANY",
    "AnswerReader",
    "Balance",
    "MeterReading",
    "Price",
    "Reading",
    "Request",
    "checked_releases",
    "chosen_audience",
    "is_audience",
    "label_of",
]

_MOST_SHOWN = 12
MANY = 10**15
"""How many times something fits that uses nothing: as many as a count can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One charge that somebody would like to make."""

    releases: tuple[Release, ...]
    dataset: str
    analyst: str = ""
    purpose: str = ""
    query: str = ""
    realised: bool = False
    """Whether it is a history of which nobody has stated that what it is held to was fixed before
    it began."""
    statement: str = ""
    """For an imported history: the importer's statement that it was."""
    blocks: tuple[str, ...] = ()
    """The blocks of time whose rows it reads, where the account has a budget for each."""
    approval: str = ""
    """The id of the submission that was approved, if it was."""
    audience: str = ""
    """Who may see the answer, if that is not as always: see :func:`chosen_audience`."""


def checked_releases(field: str, value: object) -> tuple[Release, ...]:
    """A list, a sum, or a single release, as a tuple; or an error that says what is wrong."""
    listed = (value,) if isinstance(value, Release) else value
    listed = listed.releases if isinstance(listed, ReleaseSum) else listed
    if not isinstance(listed, list | tuple) or not listed:
        raise InvalidParameter(field, value, "a list of at least one release")
    for release in listed:
        if not isinstance(release, Release):
            raise InvalidParameter(field, release, "made of releases, such as PureDP(epsilon=1)")
    return tuple(listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """One meter of an account, or of an analyst's quota, as it stands on one dataset.

    ``spent`` is None once a charge was made of which this meter says nothing: it is of no use from
    then on, and others carry the promise. ``remaining`` is what a single further charge on the
    dataset may use: with facts about membership it is more than the rest of all datasets' sum.

    >>> from fractions import Fraction
    >>> half = Balance(
    ...     meter="epsilon", dataset="patients", analyst=None,
    ...     spent=Fraction(1, 2), remaining=Fraction(1, 2), limit=Fraction(1),
    ... )
    >>> half.to_dict()["remaining"]
    0.5
    """

    meter: str
    dataset: str
    analyst: str | None
    spent: Fraction | None
    remaining: Fraction | None
    limit: Fraction
    block: str = ""
    """The block of time that it is of, where each has a budget of its own."""

    @property
    def title(self) -> str:
        """The meter in words, with whose it is."""
        title = _title(self.meter, self.analyst)
        return f"{title} in {self.block}" if self.block else title

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: floats on the safe side."""
        return {
            "meter": self.meter,
            "dataset": self.dataset,
            "analyst": self.analyst,
            "spent": None if self.spent is None else above(self.spent),
            "remaining": None if self.remaining is None else below(self.remaining),
            "limit": below(self.limit),
            **({"block": self.block} if self.block else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterReading:
    """What a charge asks of one meter; amounts are None where no amount would do.

    >>> from fractions import Fraction
    >>> reading = MeterReading(
    ...     meter="epsilon", analyst=None, requested=Fraction(1, 2), remaining=Fraction(1, 4),
    ...     limit=Fraction(1),
    ... )
    >>> reading.fits, reading.difference
    (False, Fraction(1, 4))
    """

    meter: str
    analyst: str | None
    requested: Fraction | None
    remaining: Fraction | None
    limit: Fraction

    @property
    def difference(self) -> Fraction | None:
        """How much too much is requested; None where no amount would do."""
        if self.requested is None or self.remaining is None:
            return None
        return max(self.requested - self.remaining, type(self.limit)(0))

    @property
    def fits(self) -> bool:
        """Whether this meter alone would let the charge through."""
        return self.difference is not None and self.difference == 0

    @property
    def title(self) -> str:
        """The meter in words, with whose it is."""
        return _title(self.meter, self.analyst)

    def words(self) -> str:
        """The amounts, rounded to the safe side."""
        if self.requested is None:
            return "no bound is known for releases of this kind"
        if self.remaining is None or self.difference is None:
            return "no longer usable, after a release without a bound here"
        said = f"needs {rounded_up(self.requested)}, {rounded_down(self.remaining)} left"
        return f"{said}, too much by {rounded_up(self.difference)}" if self.difference else said

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: floats on the safe side."""
        difference = self.difference
        return {
            "meter": self.meter,
            "analyst": self.analyst,
            "requested": None if self.requested is None else above(self.requested),
            "remaining": None if self.remaining is None else below(self.remaining),
            "difference": None if difference is None else above(difference),
        }


Reading = MeterReading
"""The earlier name of :class:`MeterReading`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Whether a charge fits, and what each meter says about it; nothing was charged.

    ``left`` is how many more of the same would fit: of the single release where all that is asked
    for is one kind, of the whole list otherwise. Where the charge does not fit, ``short`` is the
    meter in the way, and ``would_fit`` the most revealing release of the same kind that fits, if
    one is known.

    ``quota_of`` is the analyst whose quota all of this is about: then it says nothing of the
    account's total, which may be unable to pay what fits the quota. None: it is about the total.

    >>> from quaestor import PureDP
    >>> asked = (PureDP(epsilon=0.5),)
    >>> price = Price(account="trial", releases=asked, fits=True, readings=(), left=2)
    >>> price.fits, price.left
    (True, 2)
    """

    account: str
    releases: tuple[Release, ...]
    fits: bool
    readings: tuple[MeterReading, ...]
    left: int
    short: MeterReading | None = None
    would_fit: str | None = None
    quota_of: str | None = None
    block: str = ""
    """Of the blocks of time that must pay, the one with the least left, of which all this is."""
    full: tuple[str, ...] = ()
    """The blocks of time that cannot pay."""
    paying: tuple[str, ...] = ()
    """The others, each with what is left of it in words."""

    @property
    def times(self) -> int:
        """How many more times all of it together would fit."""
        kinds = counts_of(self.releases)
        return self.left // next(iter(kinds.values())) if len(kinds) == 1 else self.left

    def refusal(self) -> BudgetExceeded:
        """The error of a charge that was refused: by these figures, or without any.

        What fits an analyst's quota and is refused lacks the account's total. How much is lacking
        would tell what others have charged, so that nothing is said of it.
        """
        short = self.short
        if short is None:
            if self.quota_of is None:
                raise ValueError(self)
            return BudgetExceeded(self.account)
        difference = short.difference
        amounts = (
            None
            if short.requested is None or short.remaining is None or difference is None
            else (above(short.requested), below(short.remaining), above(difference))
        )
        refused = BudgetExceeded(
            self.account,
            meter=f"{short.title} in {self.block}" if self.block else short.title,
            amounts=amounts,
            short=short.words(),
            would_fit=self.would_fit,
            left=self.left,
        )
        return refused.advise(self.of_blocks()) if self.full else refused

    def of_blocks(self) -> str:
        """Which blocks are full, and what of the others is left."""
        others = f"; the others have left: {_some(self.paying)}" if self.paying else ""
        return f"Blocks with too little left: {_some(self.full)}{others}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "account": self.account,
            "releases": [str(release) for release in self.releases],
            "fits": self.fits,
            "left": self.left,
            "would_fit": self.would_fit,
            "quota_of": self.quota_of,
            "meters": [reading.to_dict() for reading in self.readings],
            **({"block": self.block, "full": list(self.full)} if self.block else {}),
        }


def _some(listed: tuple[str, ...]) -> str:
    """The last few of a list, in words."""
    more = len(listed) - _MOST_SHOWN
    shown = ", ".join(listed[-_MOST_SHOWN:])
    return f"{shown} and {more} before" if more > 0 else shown


def _title(meter: str, analyst: str | None) -> str:
    return meter if analyst is None else f"{meter} of {analyst}'s quota"


# Who may see an answer: the analyst who asked, a group, or everybody on the account. Without a word
# it is the analyst where the account has quotas, and everybody where it has none. What is said
# otherwise is kept with the charge. Names, of analysts and of groups, are what callers say.

_GROUP = "group:"
_VALID = "analyst, everybody or group:NAME, with a group that you are in"


def chosen_audience(audience: str, *, analyst: str, member_of: Sequence[str], quotas: bool) -> str:
    """What an entry keeps of who may see its answer: nothing, if that is as always."""
    if audience in ("", "analyst" if quotas else "everybody"):
        return ""
    if audience == "analyst":
        texts.name("analyst", analyst)
        return audience
    group = audience.removeprefix(_GROUP) if isinstance(audience, str) else ""
    if audience != "everybody" and (group == audience or not group or group not in member_of):
        raise InvalidParameter("audience", audience, _VALID)
    texts.name("audience", group)
    return audience


def is_audience(audience: str) -> bool:
    """Whether an entry can keep this."""
    return audience in {"", "analyst", "everybody"} or audience.startswith(_GROUP)


def label_of(audience: str, analyst: str) -> str:
    """Whose an answer is, as the store keeps it: the analyst's or, if more was said, no name's.

    Names have no blank at their ends, and none is a star.
    """
    if audience == "everybody":
        return "*"
    if audience == "analyst":
        return f" {analyst}"
    return f" {audience} " if audience else analyst


class AnswerReader(NamedTuple):
    """Who would like to see an answer."""

    analyst: str
    member_of: tuple[str, ...]
    quotas: bool
    """Whether the account has quotas, so that answers are of one analyst if nothing is said."""
    outside: bool = False
    """Whether there are quotas and none for this analyst, who is then not on the account."""

    def sees(self, label: str) -> bool:
        """Whether an answer with this label is for this reader."""
        if label == "*":
            return not self.outside
        if label.endswith(" "):
            return label[1:-1].removeprefix(_GROUP) in self.member_of
        if label.startswith(" "):
            return bool(self.analyst) and label[1:] == self.analyst
        return not self.quotas or label == self.analyst
