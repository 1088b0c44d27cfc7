"""Accounts drawn for people: what is left as bars, what still fits, and every limit if asked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from quaestor.accounting.numerics.digits import rounded_down, rounded_up, typed
from quaestor.accounting.releases import counts_of
from quaestor.cli.drawing.numbers import bar_and_percent, print_words, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.releases import Release
    from quaestor.curator.reports.account_summary import AccountSummary
    from quaestor.ledger import Price
    from quaestor.ledger.totals.standing import (
        DatasetDeclaration,
        HolderStanding,
        MeterStanding,
        Standing,
    )

__all__ = [
    "count_in_words",
    "left_in_words",
    "of_quota",
    "print_accounts",
    "print_price",
    "print_promise",
    "print_standing",
    "print_what_fits",
    "unit_in_words",
]


def count_in_words(left: int) -> str:
    """How many of something fit."""
    from quaestor.ledger.price import MANY

    return "any number" if left >= MANY else str(left)


def left_in_words(release: str, left: int) -> str:
    """How many more of a release fit."""
    return f"{count_in_words(left)} more of {release}"


def unit_in_words(releases: Sequence[Release]) -> str:
    """What is counted where one asks how many more would fit: single releases, or whole lists."""
    kinds = list(counts_of(releases))
    return str(kinds[0]) if len(kinds) == 1 else "these releases together"


def print_price(priced: Price, *, verbose: bool) -> None:
    """Whether it fits, and how many would; with ``verbose``, every limit of the account."""
    fits = "It fits" if priced.fits else "It does [bold]not[/bold] fit"
    say(f"{fits}{escape(of_quota(priced))}. Nothing was charged.")
    if priced.short is not None:
        say(f"{priced.short.title}: {priced.short.words()}", plain=True)
    if verbose:
        print_words(["limit", ""], [[each.title, each.words()] for each in priced.readings])
    if priced.would_fit is not None:
        say(f"Instead, {priced.would_fit} would fit{of_quota(priced)}.", plain=True)
    count = count_in_words(priced.left)
    say(f"In total, {count} of {unit_in_words(priced.releases)} would fit.", plain=True)


def of_quota(priced: Price) -> str:
    """Whose quota it is about, if it is about one."""
    return "" if priced.quota_of is None else f" {priced.quota_of}'s quota"


def print_promise(standing: Standing) -> None:
    """The account: what it is, and what it promises, in words."""
    definition = standing.definition
    closes = f", closes {definition.closes[:19]}Z" if definition.closes else ""
    state = ", closed" if standing.closed else closes
    target = f"epsilon {typed(definition.epsilon)}, delta {typed(definition.delta)}"
    calendar = definition.policy.calendar
    target += "" if calendar is None else f" for each {calendar.every}"
    say(f"account {definition.name}: {definition.policy.kind}, {target}{state}", plain=True)
    plain = Console(highlight=False, emoji=False)
    if standing.problem is not None:
        plain.print(f"It takes no further charges: {standing.problem}.", markup=False)
        plain.print("It was opened with this guarantee:", markup=False)
    plain.print(standing.words, markup=False)
    if standing.together is not None and standing.together.epsilon is not None:
        both = standing.together
        names, lost = ", ".join(both.accounts), rounded_up(standing.together.epsilon)
        total = f"at most epsilon {lost}, delta {typed(both.delta)}"
        say(f"accounts {names} together: {total}", plain=True)
    if standing.planned is not None:
        say(f"all declared releases together: epsilon {rounded_up(standing.planned)}")


def print_what_fits(standing: Standing) -> None:
    """How many more of what is expected, or of what was charged last, would fit."""
    newest = standing.holders[-1].block if standing.holders else ""
    for holder in standing.holders:
        if holder.block != newest:
            continue
        whose = "" if holder.analyst is None else f" for {holder.analyst}"
        place = _where(holder.dataset, holder.block)
        where = f" on {place}{whose}" if len(standing.holders) > 1 else ""
        for release, left in holder.fits:
            say(f"still fits{where}: {left_in_words(release, left)}", plain=True)


def print_accounts(accounts: Iterable[AccountSummary]) -> None:
    """One line for each account."""
    rows = [
        [
            each.definition.name,
            each.definition.policy.kind + _each(each) + _condition(each),
            typed(each.definition.epsilon),
            typed(each.definition.delta),
            _some(each.definition.datasets),
            bar_and_percent(each.least.left, cells=8),
            str(each.entries),
        ]
        for each in accounts
    ]
    print_words(["account", "policy", "#epsilon", "#delta", "datasets", "#left", "#entries"], rows)


def _each(account: AccountSummary) -> str:
    calendar = account.definition.policy.calendar
    return "" if calendar is None else f", each {calendar.every}"


def _condition(account: AccountSummary) -> str:
    if account.closed:
        return ", closed"
    return ", overdrawn" if account.problem is not None else ""


def _some(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def print_standing(standing: Standing, *, verbose: bool) -> None:
    """The account, what is left of it and the loss so far; with ``verbose``, every limit."""
    definition = standing.definition
    print_promise(standing)
    shared = bool(definition.shares)
    by_block = definition.policy.calendar is not None
    _print_cells("Budget left", ["dataset", "#left"], map(_holder, standing.holders), shared=shared)
    if verbose:
        # of blocks that were never charged all is left
        used = [each for each in standing.meters if not by_block or each.balance.spent != 0]
        heads = ["dataset", "limit", "rule", "#used", "#left"]
        _print_cells("Limits", heads, map(_meter, used), shared=shared)
    print_what_fits(standing)
    more = len(definition.datasets) - len(standing.datasets)
    if more:
        say(f"and {more} more datasets; --dataset NAME shows one")
    reading = standing.odometer
    finite = not math.isinf(reading.epsilon)
    lost = f"epsilon [bold]{rounded_up(reading.epsilon)}[/bold]" if finite else "no finite epsilon"
    say(f"privacy loss so far: at most {lost}, except with probability {typed(reading.delta)}")
    counts = (f"{standing.statuses[name]} {name}" for name in ("released", "reserved", "void"))
    say(f"entries: {', '.join(counts)}")
    for each in standing.declarations:
        say(_declaration(each), plain=True)
    for version in standing.versions:
        since = f"data version {version.label} since {version.time}"
        say(f"dataset {version.dataset} has {since}", plain=True)
    say(f"[dim]head {standing.head}[/dim]")


def _declaration(found: DatasetDeclaration) -> str:
    """What is declared of a dataset, by its digest, and whether that has changed."""
    often = {0: "unchanged since", 1: "changed once, at"}
    since = often.get(found.changes, f"changed {found.changes} times, last at")
    digest = found.last.declared.declaration[:16]
    return f"dataset {found.last.dataset} is declared as {digest}, {since} {found.last.time}"


def _print_cells(
    title: str, heads: list[str], rows: Iterable[Sequence[str]], *, shared: bool
) -> None:
    """A table whose second column, whose budget it is, is there only where there are quotas."""
    shown = [heads[0], "whose", *heads[1:]] if shared else heads
    kept = [[cell for place, cell in enumerate(row) if shared or place != 1] for row in rows]
    print_words(shown, kept, title=title)


def _holder(holder: HolderStanding) -> Sequence[str]:
    where = _where(holder.dataset, holder.block)
    return where, _whose(holder.analyst), bar_and_percent(holder.left)


def _where(dataset: str, block: str) -> str:
    """The dataset, and the block of time where each has a budget of its own."""
    return f"{dataset} {block}" if block else dataset


def _meter(line: MeterStanding) -> Sequence[str]:
    balance = line.balance
    if balance.spent is None or balance.remaining is None:
        used = left = "not applicable"
    else:
        used, left = rounded_up(balance.spent), rounded_down(balance.remaining)
    where = _where(balance.dataset, balance.block)
    return where, _whose(balance.analyst), balance.meter, line.rule, used, left


def _whose(analyst: str | None) -> str:
    return "all analysts" if analyst is None else analyst
