"""Errors about accounts, charges and the ledger itself."""

from __future__ import annotations

from typing import Any, Self

from quaestor.errors.base import InvalidParameter, QuaestorError, shorter, shown

__all__ = [
    "AccountClosed",
    "AccountExists",
    "AccountOverdrawn",
    "AnswerPending",
    "ApprovalNeeded",
    "BudgetExceeded",
    "ChargeSettled",
    "ClockWentBack",
    "InvalidHistory",
    "KeyReused",
    "LedgerCorrupted",
    "LedgerUnavailable",
    "NotPlanned",
    "SourceKnown",
    "UnknownAccount",
    "UnknownAnalyst",
]


class InvalidHistory(InvalidParameter):
    """A line of a file of releases is no release; ``line`` (from 1) says which one.

    What to do: correct the line of the file; each line is one release.

    >>> InvalidHistory(file="events.txt", line=2, problem="unknown release").line
    2
    """

    code = "invalid_history"

    def __init__(self, *, file: str, line: int, problem: str) -> None:
        ValueError.__init__(
            self,
            (
                f"{file}, line {line}: {shorter(problem, 600)}\neach line must be an event as "
                "dp-accounting prints it, a release as JSON, or an expression such as "
                "PureDP(epsilon=0.1) * 3"
            ),
        )
        self.field, self.value, self.valid = "file", file, "a release on each line"
        self.file, self.line, self.problem = file, line, problem

    def fields(self) -> dict[str, Any]:
        """Which line of which file, and what is wrong there."""
        return {"file": self.file, "line": self.line, "problem": self.problem}


class NotPlanned(InvalidParameter):
    """A charge that is not in the account's plan; ``left`` says what of the plan is left.

    What to do: ask what the plan has left, or open an account with another plan.

    >>> NotPlanned("demo", asked="PureDP(epsilon=1.0)", left="nothing is left").account
    'demo'
    """

    code = "not_planned"

    def __init__(self, account: str, *, asked: str, left: str) -> None:
        ValueError.__init__(
            self,
            (
                f"the plan of account {shown(account)} does not include {shorter(asked)}: "
                f"{shorter(left)}"
            ),
        )
        self.field, self.value, self.valid = "releases", asked, "what the account's plan declares"
        self.account, self.asked, self.left = account, asked, left

    def fields(self) -> dict[str, Any]:
        """The account, what was asked of it, and what of its plan is left."""
        return {"account": self.account, "asked": shorter(self.asked), "left": self.left}


class AccountExists(InvalidParameter):
    """An account of that name, or on one of its datasets, is there already.

    What to do: charge the existing account, or choose another name.

    >>> AccountExists("demo", dataset="north").fields()
    {'account': 'demo', 'dataset': 'north'}
    """

    code = "account_exists"

    def __init__(self, account: str, *, dataset: str | None = None, closed: bool = False) -> None:
        problem = (
            f"account {shown(account)} already exists: choose another name"
            if dataset is None
            else (
                f"account {shown(account)} covered dataset {shown(dataset)} until it was "
                "closed, and what it spent stays spent: the losses of both accounts add up. "
                f"Open this one with succeeds={shown(account)} (--succeeds), so that it "
                "states the guarantee of both together, or with beside=True (--beside)"
            )
            if closed
            else (
                f"account {shown(account)} already covers dataset {shown(dataset)}, and the "
                "losses of both accounts would add up: use that account, or open this one "
                "with beside=True (--beside) to accept the sum"
            )
        )
        ValueError.__init__(self, problem)
        self.field, self.value, self.valid = "account", account, "a new one"
        self.account, self.dataset = account, dataset

    def fields(self) -> dict[str, Any]:
        """The account that is there, and the dataset in question if it is about one."""
        return {"account": self.account, "dataset": self.dataset}


class SourceKnown(AccountExists):
    """The rows of a dataset were paid for before, under another name.

    What to do: give the dataset its earlier name, ``known_as``; a new name brings no new budget.

    >>> SourceKnown("demo", dataset="north", known_as="south", same=False).known_as
    'south'
    """

    code = "source_known"

    def __init__(self, account: str, *, dataset: str, known_as: str, same: bool) -> None:
        """Say who has paid, and for what; ``same`` if the account itself has."""
        found = f"account {shown(account)} already covers the source of dataset {shown(dataset)}, "
        remedy = f"name it {shown(known_as)} in the catalog"
        beside = (
            f", and use account {shown(account)}; or open this account beside that one "
            "(beside = true in the catalog, --beside) to accept the sum of both losses"
        )
        ValueError.__init__(
            self,
            (
                f"{found}as dataset {shown(known_as)}; a new name does not give a new budget: "
                f"{remedy}{'' if same else beside}"
            ),
        )
        self.field, self.value, self.valid = "dataset", dataset, f"called {known_as}"
        self.account, self.dataset, self.known_as = account, dataset, known_as

    def fields(self) -> dict[str, Any]:
        """Who has paid for the source, and the names that it has now and had then."""
        return {"account": self.account, "dataset": self.dataset, "known_as": self.known_as}


class UnknownAccount(InvalidParameter):
    """No account of the ledger has that name.

    What to do: correct the name (``near`` is the closest one), or open the account first.

    >>> UnknownAccount("dmeo", near="demo").fields()
    {'name': 'dmeo', 'near': 'demo'}
    """

    code = "unknown_account"

    def __init__(self, name: str, *, near: str | None, remedy: str | None = None) -> None:
        hint = (
            f"did you mean {shown(near)}?"
            if near
            else (
                "run  quaestor account list  to see the accounts, or  quaestor account open  "
                "to open one"
            )
        )
        hint = remedy or hint
        ValueError.__init__(self, f"the ledger has no account {shown(name)}: {hint}")
        self.field, self.value, self.valid = "account", name, "an account of this ledger"
        self.name, self.near = name, near

    def fields(self) -> dict[str, Any]:
        """The name that was given, and the nearest that there is."""
        return {"name": self.name, "near": self.near}


class UnknownAnalyst(InvalidParameter):
    """The account has quotas, and none for this analyst.

    What to do: ask the owner of the data for a quota.

    >>> UnknownAnalyst("anne", account="demo", near="ann").near
    'ann'
    """

    code = "unknown_analyst"

    def __init__(self, analyst: str, *, account: str, near: str | None) -> None:
        hint = f"did you mean {shown(near)}?" if near else "ask the owner of the data for a quota"
        ValueError.__init__(
            self, f"account {shown(account)} has no quota for analyst {shown(analyst)}: {hint}"
        )
        self.field, self.value, self.valid = "analyst", analyst, "one who has a quota"
        self.analyst, self.account, self.near = analyst, account, near

    def fields(self) -> dict[str, Any]:
        """The analyst, the account, and the nearest analyst who has a quota."""
        return {"analyst": self.analyst, "account": self.account, "near": self.near}


class BudgetExceeded(QuaestorError):
    """A charge does not fit: nothing was charged, nothing was released, the account goes on.

    ``requested`` and ``difference`` are rounded up and ``remaining`` is rounded down, so that
    whatever is planned by these numbers is planned safely. They are None where no amount of the
    meter would do.

    Where the account has quotas, the figures are those of the analyst's quota. If that suffices
    and the account's total does not, the meter is ``total`` and there are no figures at all: they
    would tell what others have charged.

    What to do: ask with more noise (``would_fit``), ask fewer questions (``left``), or ask another
    account.

    >>> refused = BudgetExceeded("demo", meter="epsilon", amounts=(0.5, 0.25, 0.25))
    >>> refused.requested, refused.remaining, refused.difference
    (0.5, 0.25, 0.25)
    """

    code = "budget_exceeded"

    def __init__(  # noqa: PLR0913  # what a refusal says
        self,
        account: str,
        *,
        meter: str = "total",
        amounts: tuple[float, float, float] | None = None,
        short: str | None = None,
        would_fit: str | None = None,
        left: int | None = None,
    ) -> None:
        hints = [f"{would_fit} would fit"] if would_fit is not None else []
        hints += [f"{left} of what was asked for would fit"] if left else []
        instead = f"instead, {', or '.join(hints)}" if hints else "nothing like it fits any more"
        why, how = ("", "") if short is None else (f": {instead}", f" ({meter}: {short})")
        refused = f"account {shown(account)} has too little budget left{why}"
        super().__init__(f"{refused}. Nothing was charged{how}")
        self.account, self.meter, self.would_fit, self.left = account, meter, would_fit, left
        self.requested: float | None
        self.remaining: float | None
        self.difference: float | None
        self.requested, self.remaining, self.difference = amounts or (None, None, None)

    def advise(self, advice: str) -> Self:
        """The same refusal with one sentence more: what else can be done."""
        self.args = (f"{self}. {advice}",)
        return self

    def fields(self) -> dict[str, Any]:
        """The meter in words, the three amounts, and what would fit."""
        names = ("account", "meter", "requested", "remaining", "difference", "would_fit", "left")
        return {name: getattr(self, name) for name in names}


class AccountOverdrawn(BudgetExceeded):
    """The account promised more than current accounting can prove: it takes no further charges.

    ``reason`` says what was promised too much; it is empty where the account has quotas, since it
    would tell what others have charged. Entries and stored answers can still be read.

    What to do: read what was stored, and open another account.

    >>> AccountOverdrawn("demo", reason="epsilon 1.2 of 1").reason
    'epsilon 1.2 of 1'
    """

    code = "account_overdrawn"

    def __init__(self, account: str, *, reason: str = "") -> None:
        why = reason or (
            "by current accounting it has spent more than it guarantees; the data owner "
            "can see the reason"
        )
        QuaestorError.__init__(
            self,
            (
                f"account {shown(account)} takes no further charges: {shorter(why, 600)}. Its "
                "entries and stored answers can still be read; open another account. Nothing "
                "was charged"
            ),
        )
        self.account, self.reason = account, reason
        self.meter, self.would_fit, self.left = "total", None, None
        self.requested = self.remaining = self.difference = None

    def fields(self) -> dict[str, Any]:
        """The account, and what was promised too much."""
        return {"account": self.account, "reason": self.reason}


class KeyReused(InvalidParameter):
    """The key of a charge was given again with another request; nothing was charged.

    What to do: give each request a key of its own.

    >>> KeyReused("monday", account="demo").fields()
    {'key': 'monday', 'account': 'demo'}
    """

    code = "key_reused"

    def __init__(self, key: str, *, account: str) -> None:
        ValueError.__init__(
            self,
            (
                f"the key {shown(key)} was already used for another charge of account "
                f"{shown(account)}: nothing was charged; use a new key for each request"
            ),
        )
        self.field, self.value, self.valid = "key", key, "a key that no other charge has"
        self.key, self.account = key, account

    def fields(self) -> dict[str, Any]:
        """The key, and the account."""
        return {"key": self.key, "account": self.account}


class AccountClosed(QuaestorError):
    """The account was closed: what it has answered stays, and it takes no further charges.

    ``closes`` is its closing date, if that has come; None if somebody has closed it.

    What to do: charge another account, or have the owner open one that succeeds it.

    >>> AccountClosed("demo", closes="2027-01-01").fields()
    {'account': 'demo', 'closes': '2027-01-01'}
    """

    code = "account_closed"

    def __init__(self, account: str, *, closes: str | None = None) -> None:
        super().__init__(
            (
                f"account {shown(account)} is closed and takes no further charges: its answers "
                "and entries can still be read; use another account"
            )
            if closes is None
            else (
                f"account {shown(account)} closed on {closes} and takes no further charges: "
                "running questions can finish, and its answers and entries can still be "
                "read; use another account, or ask the data owner to open one that succeeds "
                "it"
            )
        )
        self.account, self.closes = account, closes

    def fields(self) -> dict[str, Any]:
        """The account, and the closing date if that has come."""
        return {"account": self.account, "closes": self.closes}


class ChargeSettled(QuaestorError):
    """A charge can no longer be changed in this way; the message says why.

    What to do: make a new charge.

    >>> ChargeSettled(3, problem="is released").entry
    3
    """

    code = "charge_settled"

    def __init__(self, entry: int, *, problem: str) -> None:
        super().__init__(f"entry {entry} {problem}")
        self.entry, self.problem = entry, problem

    def fields(self) -> dict[str, Any]:
        """The entry's number, and why it stays as it is."""
        return {"entry": self.entry, "problem": self.problem}


class AnswerPending(QuaestorError):
    """Somebody else has asked the same question, and is not done; nothing more was charged.

    What to do: ask again later; the stored answer is then free.

    >>> AnswerPending("demo").fields()
    {'account': 'demo'}
    """

    code = "answer_pending"

    def __init__(self, account: str) -> None:
        super().__init__(
            f"the same question is still being answered for account {shown(account)}: "
            "nothing more was charged; ask again later"
        )
        self.account = account

    def fields(self) -> dict[str, Any]:
        """The account."""
        return {"account": self.account}


class ApprovalNeeded(QuaestorError):
    """The account demands approval, and there is none for exactly this; nothing was charged.

    What to do: submit the question, have somebody else approve it, and ask exactly that.

    >>> ApprovalNeeded("demo", problem="this is not approved").problem
    'this is not approved'
    """

    code = "approval_needed"

    def __init__(self, account: str, *, problem: str, remedy: str = "") -> None:
        remedy = remedy or (
            "submit it (quaestor account submit), have another person approve it "
            "(quaestor account approve), then ask the same question once with --approval"
        )
        super().__init__(f"account {shown(account)}: {problem}. Nothing was charged; {remedy}")
        self.account, self.problem, self.remedy = account, problem, remedy

    def fields(self) -> dict[str, Any]:
        """The account, what stands in the way, and what to do about it."""
        return {"account": self.account, "problem": self.problem, "remedy": self.remedy}


class ClockWentBack(QuaestorError):
    """The clock is behind the ledger's last entry; nothing was written.

    What to do: set the clock; if it was wrong before and is right now, run ``quaestor ledger
    clock``.

    >>> ClockWentBack(now="2026-01-01T00:00:00Z", last="2026-01-02T00:00:00Z").last
    '2026-01-02T00:00:00Z'
    """

    code = "clock_went_back"

    def __init__(self, *, now: str, last: str) -> None:
        super().__init__(
            f"the system clock says {now}, which is before the ledger's last entry of "
            f"{last}: nothing was charged; correct the clock or, if it is correct now, "
            "accept the current time with  quaestor ledger clock"
        )
        self.now, self.last = now, last

    def fields(self) -> dict[str, Any]:
        """Both times, in UTC."""
        return {"now": self.now, "last": self.last}


class LedgerUnavailable(QuaestorError):
    """The ledger's store cannot be used just now; ``reason`` is a word for programs.

    What to do: remove the cause that ``reason`` names, such as a full disk, and try again.

    >>> LedgerUnavailable("disk_full", "the disk is full").fields()
    {'reason': 'disk_full'}
    """

    code = "ledger_unavailable"

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason

    def fields(self) -> dict[str, Any]:
        """What stands in the way, in a word such as ``disk_full`` or ``read_only``."""
        return {"reason": self.reason}


class LedgerCorrupted(QuaestorError):
    """The ledger's store does not hold together; ``place`` is the first that does not.

    What to do: charge nothing; restore the last backup that verifies (``quaestor ledger
    restore``).

    >>> LedgerCorrupted("event 7 of account 'demo'", "its hash is wrong").place
    "event 7 of account 'demo'"
    """

    code = "ledger_corrupted"

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(
            f"the ledger failed verification: {place}: {problem}. Do not use it; compare "
            "it with a backup (quaestor ledger verify on its copy) or an export, and "
            "restore the last state that verifies (quaestor ledger restore)"
        )
        self.place, self.problem = place, problem

    def fields(self) -> dict[str, Any]:
        """The first broken place, and what is wrong there."""
        return {"place": self.place, "problem": self.problem}
