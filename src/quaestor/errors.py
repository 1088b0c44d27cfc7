"""Every exception that Quaestor raises.

::

    QuaestorError
    ├── InvalidParameter          a value outside its range, or of the wrong kind
    │   ├── InvalidExpression     a release expression that does not parse
    │   ├── UnknownDatabase       a fact or a prior names a database that there is not
    │   ├── ContradictoryFacts    facts about membership that nobody can fulfil
    │   ├── InvalidPlan           a plan file that does not say what it should
    │   ├── InvalidHistory        a file of releases with a line that is none
    │   ├── InvalidCatalog        a catalog file that does not say what it should
    │   ├── UnreadableTable       a table whose columns cannot be read where it is said to be
    │   ├── MissingAddress        an environment variable that should hold an address is not set
    │   ├── RefusedQuery          a question that is not answered, and what to ask instead
    │   ├── NotPlanned            a charge that the account's plan does not contain
    │   ├── AccountExists         an account of that name, or on that dataset, is there already
    │   ├── UnknownAccount        no account has that name
    │   └── UnknownAnalyst        an analyst without a share, where shares are declared
    ├── TheoremDoesNotApply       a theorem was asked about releases it says nothing about
    ├── TargetOutOfReach          no noise, or no count, meets the target that was asked for
    ├── BudgetExceeded            a charge that does not fit; nothing was charged
    ├── AccountClosed             the account takes no further charges
    ├── ChargeSettled             a charge that can no longer be changed in this way
    ├── ClockWentBack             the clock is behind the ledger's last entry
    ├── LedgerUnavailable         the ledger's store cannot be used just now
    ├── LedgerCorrupted           the ledger's store does not hold together
    ├── MissingExtra              an optional dependency is needed and not installed
    ├── SourceUnavailable         a table cannot be reached, or is not what the catalog says
    └── EngineFailed              a query failed; nothing is said of why

Each class has a stable ``code`` for programs, fields that can be read, and a sentence that says
what to do next.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "AccountClosed",
    "AccountExists",
    "BudgetExceeded",
    "ChargeSettled",
    "ClockWentBack",
    "ContradictoryFacts",
    "EngineFailed",
    "InvalidCatalog",
    "InvalidExpression",
    "InvalidHistory",
    "InvalidParameter",
    "InvalidPlan",
    "LedgerCorrupted",
    "LedgerUnavailable",
    "MissingAddress",
    "MissingExtra",
    "NotPlanned",
    "QuaestorError",
    "RefusedQuery",
    "SourceUnavailable",
    "TargetOutOfReach",
    "TheoremDoesNotApply",
    "UnknownAccount",
    "UnknownAnalyst",
    "UnknownDatabase",
    "UnreadableTable",
]

_LONGEST_VALUE_SHOWN = 80


def _shown(value: object) -> str:
    """The value as a person can take it in: short, printable, never an error itself."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= _LONGEST_VALUE_SHOWN else text[:_LONGEST_VALUE_SHOWN] + "..."


def _shorter(text: str, most: int = 300) -> str:
    return text if len(text) <= most else text[:most] + "..."


def _pointed(line: str, column: int, problem: str) -> str:
    """The problem, with an arrow to its column (from 1) under an excerpt of the line."""
    start = max(0, column - 41)
    window = "".join(c if c.isprintable() else " " for c in line[start : start + 80])
    before, after = "..." if start else "", "..." if start + 80 < len(line) else ""
    pointer = " " * (len(before) + column - 1 - start) + "^"
    return f"column {column}: {problem}\n  {before}{window}{after}\n  {pointer}"


def _rebuild(kind: type[Any], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    error: Any = Exception.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class QuaestorError(Exception):
    """The root of all errors of this package."""

    code: ClassVar[str] = "error"

    def fields(self) -> dict[str, Any]:
        """What a program may want to read, beside the message."""
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors travel between processes."""
        return _rebuild, (type(self), self.args, self.__dict__)


class InvalidParameter(QuaestorError, ValueError):
    """A parameter is outside its valid range or of the wrong kind."""

    code = "invalid_parameter"

    def __init__(self, field: str, value: object, valid: str) -> None:
        super().__init__(f"{field} must be {valid}, got {_shown(value)}")
        self.field, self.value, self.valid = field, value, valid

    def fields(self) -> dict[str, Any]:
        """The parameter, the value that was given, and what would have been valid."""
        return {"field": self.field, "value": _shown(self.value), "valid": self.valid}


class InvalidExpression(InvalidParameter):
    """A release expression does not parse; ``column`` (from 1) says where."""

    code = "invalid_expression"

    def __init__(self, text: str, column: int, problem: str) -> None:
        ValueError.__init__(self, _pointed(text, column, problem))
        self.field, self.value, self.valid = "expression", text, "a release expression"
        self.text, self.column, self.problem = text, column, problem

    def fields(self) -> dict[str, Any]:
        """Where the expression stops making sense, and why."""
        return {"column": self.column, "problem": self.problem}


class UnknownDatabase(InvalidParameter):
    """A fact, or a prior, names a database that is not among those with releases."""

    code = "unknown_database"

    def __init__(self, name: str, *, near: str | None, known: int) -> None:
        hint = f"did you mean {_shown(near)}?" if near else "add it, or correct the name"
        ValueError.__init__(self, f"no database is called {_shown(name)}, among {known}: {hint}")
        self.field, self.value, self.valid = "database", name, "one that has releases"
        self.name, self.near = name, near

    def fields(self) -> dict[str, Any]:
        """The name that was given, and the nearest that there is."""
        return {"name": self.name, "near": self.near}


class ContradictoryFacts(InvalidParameter):
    """The facts contradict each other: nobody could be in the data at all."""

    code = "contradictory_facts"

    def __init__(self, facts: str) -> None:
        ValueError.__init__(
            self,
            f"no membership fulfils all of {_shorter(facts)}: "
            "take one of these facts away, or weaken it",
        )
        self.field, self.value, self.valid = "membership", facts, "facts that can hold together"
        self.facts = facts

    def fields(self) -> dict[str, Any]:
        """The facts, as they print."""
        return {"facts": _shorter(self.facts)}


class InvalidPlan(InvalidParameter):
    """A plan file does not say what it should; ``place`` says where."""

    code = "invalid_plan"

    def __init__(self, place: str, problem: str) -> None:
        ValueError.__init__(self, f"plan, {place}: {problem}" if place else f"plan: {problem}")
        self.field, self.value, self.valid = "plan", place, "a plan file"
        self.place, self.problem = place, problem

    def fields(self) -> dict[str, Any]:
        """Where in the plan, and what is wrong there."""
        return {"place": self.place, "problem": self.problem}


class InvalidHistory(InvalidParameter):
    """A line of a file of releases is no release; ``line`` (from 1) says which one."""

    code = "invalid_history"

    def __init__(self, *, file: str, line: int, problem: str) -> None:
        ValueError.__init__(
            self,
            f"{file}, line {line}: {_shorter(problem, 600)}\na line is an event as dp-accounting "
            "prints it, a release as JSON, or an expression such as PureDP(epsilon=0.1) * 3",
        )
        self.field, self.value, self.valid = "file", file, "a release on each line"
        self.file, self.line, self.problem = file, line, problem

    def fields(self) -> dict[str, Any]:
        """Which line of which file, and what is wrong there."""
        return {"file": self.file, "line": self.line, "problem": self.problem}


class InvalidCatalog(InvalidParameter):
    """A catalog file does not say what it should; ``line`` (from 1) says where, if known."""

    code = "invalid_catalog"

    def __init__(self, *, file: str, line: int | None, problem: str, remedy: str) -> None:
        where = file if line is None else f"{file}, line {line}"
        ValueError.__init__(self, f"{where}: {problem}; {remedy}")
        self.field, self.value, self.valid = "catalog", file, "a catalog file"
        self.file, self.line, self.problem, self.remedy = file, line, problem, remedy

    def fields(self) -> dict[str, Any]:
        """Where in which file, what is wrong there, and what to write instead."""
        return {
            "file": self.file,
            "line": self.line,
            "problem": self.problem,
            "remedy": self.remedy,
        }


class UnreadableTable(InvalidParameter):
    """The columns of a table cannot be read; what an engine said of its rows is not repeated."""

    code = "unreadable_table"

    def __init__(self, *, place: str, problem: str, remedy: str) -> None:
        ValueError.__init__(self, f"{place}: {problem}; {remedy}")
        self.field, self.value, self.valid = "table", place, "a table that can be read"
        self.place, self.problem, self.remedy = place, problem, remedy

    def fields(self) -> dict[str, Any]:
        """Which table, what is wrong with it, and what to do."""
        return {"place": self.place, "problem": self.problem, "remedy": self.remedy}


class MissingAddress(InvalidParameter):
    """An environment variable that should hold the address of a server is not set."""

    code = "missing_address"

    def __init__(self, environment: str) -> None:
        ValueError.__init__(
            self,
            f"the environment variable {environment} is not set: "
            f"run  export {environment}=postgresql://user:password@host/database",
        )
        self.field, self.value, self.valid = "environment", environment, "a variable that is set"
        self.environment = environment

    def fields(self) -> dict[str, Any]:
        """The variable; what it holds is never shown."""
        return {"environment": self.environment}


class RefusedQuery(InvalidParameter):
    """A question was refused before any data were touched; ``remedy`` says what to ask instead.

    ``place`` counts characters of ``text`` from 0. ``line`` and ``column`` count from 1 and are
    ``None`` where the question was not written as text.
    """

    code = "refused_query"

    def __init__(
        self, reason: str, *, remedy: str = "", text: str | None = None, place: int | None = None
    ) -> None:
        sentence = f"{_shorter(reason)}; {_shorter(remedy)}" if remedy else _shorter(reason)
        self.line: int | None = None
        self.column: int | None = None
        if text is not None and place is not None:
            place = min(max(place, 0), len(text))
            start = text.rfind("\n", 0, place) + 1
            self.line, self.column = text.count("\n", 0, place) + 1, place - start + 1
            line = text[start:].split("\n", 1)[0]
            sentence = f"line {self.line}, {_pointed(line, self.column, sentence)}"
        ValueError.__init__(self, sentence)
        self.field, self.value, self.valid = "query", text, "a question that can be answered"
        self.reason, self.remedy = reason, remedy

    def at(self, text: str, place: int) -> RefusedQuery:
        """The same refusal, pointing to a place in the text of the question."""
        return RefusedQuery(self.reason, remedy=self.remedy, text=text, place=place)

    def fields(self) -> dict[str, Any]:
        """Why, what to do instead, and where in the text."""
        return {
            "reason": self.reason,
            "remedy": self.remedy,
            "line": self.line,
            "column": self.column,
        }


class NotPlanned(InvalidParameter):
    """A charge that is not in the account's plan; ``left`` says what of the plan is left."""

    code = "not_planned"

    def __init__(self, account: str, *, asked: str, left: str) -> None:
        ValueError.__init__(
            self, f"account {_shown(account)} does not plan {_shorter(asked)}: {_shorter(left)}"
        )
        self.field, self.value, self.valid = "releases", asked, "what the account's plan declares"
        self.account, self.asked, self.left = account, asked, left

    def fields(self) -> dict[str, Any]:
        """The account, what was asked of it, and what of its plan is left."""
        return {"account": self.account, "asked": _shorter(self.asked), "left": self.left}


class AccountExists(InvalidParameter):
    """An account of that name, or on one of its datasets, is there already."""

    code = "account_exists"

    def __init__(self, account: str, *, dataset: str | None = None) -> None:
        problem = (
            f"there is an account called {_shown(account)} already: choose another name"
            if dataset is None
            else f"account {_shown(account)} covers dataset {_shown(dataset)} already, and people "
            "in it would lose the sum of both accounts: charge that account, or open this one "
            "with beside=True (--beside) if the sum is meant"
        )
        ValueError.__init__(self, problem)
        self.field, self.value, self.valid = "account", account, "a new one"
        self.account, self.dataset = account, dataset

    def fields(self) -> dict[str, Any]:
        """The account that is there, and the dataset in question if it is about one."""
        return {"account": self.account, "dataset": self.dataset}


class UnknownAccount(InvalidParameter):
    """No account of the ledger has that name."""

    code = "unknown_account"

    def __init__(self, name: str, *, near: str | None, remedy: str | None = None) -> None:
        hint = f"did you mean {_shown(near)}?" if near else "open it first, or list the accounts"
        hint = remedy or hint
        ValueError.__init__(self, f"the ledger has no account called {_shown(name)}: {hint}")
        self.field, self.value, self.valid = "account", name, "an account of this ledger"
        self.name, self.near = name, near

    def fields(self) -> dict[str, Any]:
        """The name that was given, and the nearest that there is."""
        return {"name": self.name, "near": self.near}


class UnknownAnalyst(InvalidParameter):
    """The account has shares, and none for this analyst."""

    code = "unknown_analyst"

    def __init__(self, analyst: str, *, account: str, near: str | None) -> None:
        hint = f"did you mean {_shown(near)}?" if near else "ask the owner of the data for a share"
        ValueError.__init__(
            self, f"account {_shown(account)} has no share for analyst {_shown(analyst)}: {hint}"
        )
        self.field, self.value, self.valid = "analyst", analyst, "one who has a share"
        self.analyst, self.account, self.near = analyst, account, near

    def fields(self) -> dict[str, Any]:
        """The analyst, the account, and the nearest analyst who has a share."""
        return {"analyst": self.analyst, "account": self.account, "near": self.near}


class TheoremDoesNotApply(QuaestorError):
    """The theorem says nothing about these releases; the message says why."""

    code = "theorem_does_not_apply"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def fields(self) -> dict[str, Any]:
        """Why the theorem does not apply."""
        return {"reason": self.reason}


class TargetOutOfReach(QuaestorError):
    """No value of the free parameter meets the target."""

    code = "target_out_of_reach"


class BudgetExceeded(QuaestorError):
    """A charge does not fit: nothing was charged, nothing was released, the account goes on.

    ``requested`` and ``difference`` are rounded up and ``remaining`` is rounded down, so that
    whatever is planned by these numbers is planned safely. They are None where no amount of the
    meter would do.
    """

    code = "budget_exceeded"

    def __init__(  # noqa: PLR0913  # what a refusal says
        self,
        account: str,
        *,
        meter: str,
        amounts: tuple[float, float, float] | None,
        short: str,
        would_fit: str | None = None,
        left: int | None = None,
    ) -> None:
        hints = [f"{would_fit} would fit"] if would_fit is not None else []
        hints += [f"{left} of what was asked for would fit"] if left else []
        instead = f"instead, {' or '.join(hints)}" if hints else "the same does not fit any more"
        super().__init__(
            f"account {_shown(account)} cannot pay: {meter}: {short}; {instead}. "
            "Nothing was charged"
        )
        self.account, self.meter, self.would_fit, self.left = account, meter, would_fit, left
        self.requested: float | None
        self.remaining: float | None
        self.difference: float | None
        self.requested, self.remaining, self.difference = amounts or (None, None, None)

    def fields(self) -> dict[str, Any]:
        """The meter in words, the three amounts, and what would fit."""
        names = ("account", "meter", "requested", "remaining", "difference", "would_fit", "left")
        return {name: getattr(self, name) for name in names}


class AccountClosed(QuaestorError):
    """The account was closed: what it has answered stays, and it takes no further charges."""

    code = "account_closed"

    def __init__(self, account: str) -> None:
        super().__init__(
            f"account {_shown(account)} is closed and takes no further charges: its answers and "
            "entries can still be read; charge another account"
        )
        self.account = account

    def fields(self) -> dict[str, Any]:
        """The account."""
        return {"account": self.account}


class ChargeSettled(QuaestorError):
    """A charge can no longer be changed in this way; the message says why."""

    code = "charge_settled"

    def __init__(self, entry: int, *, problem: str) -> None:
        super().__init__(f"entry {entry} {problem}")
        self.entry, self.problem = entry, problem

    def fields(self) -> dict[str, Any]:
        """The entry's number, and why it stays as it is."""
        return {"entry": self.entry, "problem": self.problem}


class ClockWentBack(QuaestorError):
    """The clock is behind the ledger's last entry; nothing was written."""

    code = "clock_went_back"

    def __init__(self, *, now: str, last: str) -> None:
        super().__init__(
            f"the clock says {now}, and the ledger's last entry is of {last}: nothing was charged; "
            "set the clock right, or wait until it has passed that time"
        )
        self.now, self.last = now, last

    def fields(self) -> dict[str, Any]:
        """Both times, in UTC."""
        return {"now": self.now, "last": self.last}


class LedgerUnavailable(QuaestorError):
    """The ledger's store cannot be used just now; ``reason`` is a word for programs."""

    code = "ledger_unavailable"

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason

    def fields(self) -> dict[str, Any]:
        """What stands in the way, in a word such as ``disk_full`` or ``read_only``."""
        return {"reason": self.reason}


class LedgerCorrupted(QuaestorError):
    """The ledger's store does not hold together; ``place`` is the first that does not."""

    code = "ledger_corrupted"

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(
            f"the ledger does not hold together: {place}: {problem}. Charge nothing on it; "
            "compare it with a backup or with an export"
        )
        self.place, self.problem = place, problem

    def fields(self) -> dict[str, Any]:
        """The first broken place, and what is wrong there."""
        return {"place": self.place, "problem": self.problem}


class MissingExtra(QuaestorError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    code = "missing_extra"

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed: "
            f"run  pip install 'quaestor[{extra}]'"
        )
        self.package, self.extra = package, extra

    def fields(self) -> dict[str, Any]:
        """The missing package and the extra that brings it."""
        return {"package": self.package, "extra": self.extra}


class SourceUnavailable(QuaestorError):
    """A table cannot be reached, or is not what the catalog says; no row was read."""

    code = "source_unavailable"

    def __init__(self, table: str, problem: str) -> None:
        super().__init__(f"table {_shown(table)} cannot be asked: {problem}")
        self.table, self.problem = table, problem

    def fields(self) -> dict[str, Any]:
        """The table, and what stands in the way."""
        return {"table": self.table, "problem": self.problem}


class EngineFailed(QuaestorError):
    """A query failed on its engine. Always the same words: an engine's own may quote rows."""

    code = "engine_failed"

    def __init__(self) -> None:
        super().__init__(
            "the engine could not answer; its reasons may be about somebody, and are not shown: "
            "see that the server is up and has memory and space, then ask again"
        )
