"""Whoever changes anything behind the ledger's back is found out."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from quaestor.accounting.membership.facts import Exclusive
from quaestor.accounting.releases import ApproxDP, PureDP
from quaestor.errors import BudgetExceeded, LedgerCorrupted
from quaestor.ledger import AccountDefinition, Ledger
from quaestor.ledger.journal.events import Event
from tests.ledger.places import around, definition, share

TABLES = {
    "ledger_accounts": (("name",), ("name", "definition")),
    "ledger_heads": (
        ("account",),
        ("account", "events", "entries", "time", "head", "closed", "pricing"),
    ),
    "ledger_events": (
        ("account", "seq"),
        (
            *("account", "seq", "kind", "entry", "time", "analyst", "dataset", "purpose", "query"),
            *("releases", "detail", "answer", "previous", "hash"),
        ),
    ),
    "ledger_balances": (
        ("account", "dataset", "analyst"),
        ("account", "dataset", "analyst", "totals"),
    ),
    "ledger_answers": (
        ("account", "entry"),
        ("account", "entry", "dataset", "query", "analyst", "answer"),
    ),
}


@pytest.fixture
def full(location: str) -> str:
    """A ledger in which everything has happened: two accounts, shares, facts, void, import, end."""
    with Ledger(location) as ledger:
        account = ledger.open_account(
            definition(
                "north",
                datasets=("a", "b"),
                membership=Exclusive("a", "b"),
                shares=(share("ann", 0.5), share("*", 0.25)),
            )
        )
        small = ApproxDP(epsilon=0.125, delta=1e-9)
        for analyst, dataset, query in (("ann", "a", "f00"), ("bob", "b", "f01")):
            with account.reserve(
                small, analyst=analyst, dataset=dataset, purpose="why", query=query
            ) as charge:
                charge.drawing()
                charge.release(f"answer {query}")
        with account.reserve(small, analyst="ann", dataset="a") as charge:
            charge.void("the engine is down")
        with account.reserve(small, analyst="ann", dataset="b"):
            pass
        account.import_history({"a": [small]}, purpose="last year", analyst="ann")
        account.close()
        ledger.open_account(definition("south")).reserve(PureDP(epsilon=0.5))
        assert [found.events for found in ledger.verify()] == [12, 2]
    return location


def changed(value: object) -> object:
    return value + 1000 if isinstance(value, int) else f"{value}x"


def put(location: str, table: str, where: dict[str, Any], **values: object) -> None:
    """Other values in one row."""
    keys = TABLES[table][0]
    test = " AND ".join(f"{key} = ?" for key in keys)
    to = ", ".join(f"{column} = ?" for column in values)
    with around(location) as run:
        statement = f"UPDATE {table} SET {to} WHERE {test}"  # noqa: S608  # our own names
        run(statement, *values.values(), *(where[key] for key in keys))


def add(location: str, table: str, row: dict[str, Any]) -> None:
    """One row more."""
    columns, marks = ", ".join(row), ", ".join("?" for _ in row)
    with around(location) as run:
        run(f"INSERT INTO {table} ({columns}) VALUES ({marks})", *row.values())  # noqa: S608  # ours


def take(location: str, table: str, row: dict[str, Any]) -> None:
    """One row less."""
    keys = TABLES[table][0]
    test = " AND ".join(f"{key} = ?" for key in keys)
    with around(location) as run:
        run(f"DELETE FROM {table} WHERE {test}", *(row[key] for key in keys))  # noqa: S608  # ours


def rows_of(location: str, table: str) -> list[dict[str, Any]]:
    columns = TABLES[table][1]
    with around(location) as run:
        found = run(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1, 2")  # noqa: S608  # ours
    return [dict(zip(columns, row, strict=True)) for row in found]


def found_out(location: str, **noted: Any) -> str:
    with Ledger(location) as ledger, pytest.raises(LedgerCorrupted) as error:
        ledger.verify(**noted)
    assert error.value.fields()["place"]
    return str(error.value)


@pytest.mark.parametrize("table", TABLES)
def test_a_change_of_any_value_is_found(full: str, table: str) -> None:
    rows = rows_of(full, table)
    assert rows
    with Ledger(full) as ledger:
        for row in rows:
            for column in TABLES[table][1]:
                other = changed(row[column])
                put(full, table, row, **{column: other})
                with pytest.raises(LedgerCorrupted):
                    ledger.verify()
                put(full, table, {**row, column: other}, **{column: row[column]})
        ledger.verify()


@pytest.mark.parametrize("table", TABLES)
def test_a_row_that_is_gone_is_missed(full: str, table: str) -> None:
    with Ledger(full) as ledger:
        for row in rows_of(full, table):
            take(full, table, row)
            with pytest.raises(LedgerCorrupted):
                ledger.verify()
            add(full, table, row)
        ledger.verify()


def test_a_row_that_was_added_is_found(full: str) -> None:
    last = rows_of(full, "ledger_events")[-1]
    for table, row in (
        ("ledger_events", {**last, "seq": last["seq"] + 1, "previous": last["hash"]}),
        (
            "ledger_balances",
            {"account": "south", "dataset": "z", "analyst": "*", "totals": '{"0:epsilon":"1/8"}'},
        ),
        (
            "ledger_answers",
            {
                "account": "south",
                "entry": 1,
                "dataset": "a",
                "query": "",
                "analyst": "",
                "answer": "",
            },
        ),
    ):
        add(full, table, row)
        found_out(full)
        take(full, table, row)
    with Ledger(full) as ledger:
        ledger.verify()


def test_events_that_changed_places_are_found(full: str) -> None:
    first, second = rows_of(full, "ledger_events")[3:5]
    put(full, "ledger_events", first, seq=999)
    put(full, "ledger_events", second, seq=first["seq"])
    put(full, "ledger_events", {**first, "seq": 999}, seq=second["seq"])
    assert f"event {first['seq']} of account 'north'" in found_out(full)


def test_the_message_names_the_first_broken_place(full: str) -> None:
    for row in reversed(rows_of(full, "ledger_events")[2:5]):
        put(full, "ledger_events", row, purpose="something nicer")
    assert "event 3 of account 'north': its content does not match its hash" in found_out(full)


def forged(location: str, account: str, *, drop: int) -> None:
    """Take the last events away, and make everything else fit: no hash alone can tell."""
    rows = [row for row in rows_of(location, "ledger_events") if row["account"] == account]
    kept = rows[:-drop]
    for row in rows[-drop:]:
        take(location, "ledger_events", row)
    entries = max(row["entry"] for row in kept)
    put(
        location,
        "ledger_heads",
        {"account": account},
        events=len(kept),
        entries=entries,
        head=kept[-1]["hash"],
        time=kept[-1]["time"],
    )
    for row in rows_of(location, "ledger_balances"):
        if row["account"] == account:
            take(location, "ledger_balances", row)


def test_a_history_that_was_cut_off_is_found_by_a_head_that_was_noted(full: str) -> None:
    with Ledger(full) as ledger:
        heads = {found.account: found.head for found in ledger.verify()}
    forged(full, "south", drop=1)
    with Ledger(full) as ledger:
        ledger.verify()  # everything fits: only a note kept elsewhere can tell
    assert "account 'south': the recorded head" in found_out(full, heads=heads)


def test_a_rewritten_history_is_found_by_a_head_that_was_noted(full: str) -> None:
    with Ledger(full) as ledger:
        heads = {found.account: found.head for found in ledger.verify()}
    opened, reserved = [r for r in rows_of(full, "ledger_events") if r["account"] == "south"]
    reserved["purpose"] = "something nicer"
    reserved["hash"] = Event(**reserved).sealed().hash
    put(full, "ledger_events", reserved, purpose=reserved["purpose"], hash=reserved["hash"])
    put(full, "ledger_heads", {"account": "south"}, head=reserved["hash"])
    with Ledger(full) as ledger:
        ledger.verify()
        ledger.verify(heads={"south": opened["hash"]})  # as it was noted before that
    found_out(full, heads=heads)


def test_an_account_that_is_gone_without_a_trace_is_found_by_its_head(full: str) -> None:
    for table in TABLES:
        for row in rows_of(full, table):
            if row.get("account", row.get("name")) == "south":
                take(full, table, row)
    with Ledger(full) as ledger:
        assert [found.account for found in ledger.verify()] == ["north"]
    assert "its head was recorded, but the account is missing" in found_out(
        full, heads={"south": "0" * 64}
    )


def test_an_earlier_head_stays_good_as_the_chain_grows(ledger: Ledger) -> None:
    account = ledger.open_account(definition())
    heads = []
    for _ in range(3):
        account.reserve(PureDP(epsilon=0.125))
        heads.append(account.verify().head)
    assert len(set(heads)) == 3
    for head in heads:
        account.verify(head=head)


def test_more_than_is_allowed_is_found_even_where_everything_fits(full: str) -> None:
    """Forged totals let somebody overspend; the entries tell."""
    (balance,) = [r for r in rows_of(full, "ledger_balances") if r["account"] == "south"]
    put(full, "ledger_balances", balance, totals="{}")
    with Ledger(full) as ledger:
        ledger.account("south").reserve(PureDP(epsilon=0.75))
    assert "the totals of account 'south'" in found_out(full)
    put(full, "ledger_heads", {"account": "south"}, pricing=0)  # have them priced again
    with Ledger(full) as ledger, pytest.raises(BudgetExceeded):
        ledger.account("south").reserve(PureDP(epsilon=0.125))
    assert "more was charged than it allows" in found_out(full)


def test_a_forged_answer_is_not_given_out(full: str) -> None:
    (first, _) = rows_of(full, "ledger_answers")
    put(full, "ledger_answers", first, answer="41")
    with Ledger(full) as ledger:
        account = ledger.account("north")
        with pytest.raises(LedgerCorrupted, match="differs from the answer that was released"):
            account.answer("f00", dataset="a", analyst="ann")
        assert account.answer("f01", dataset="b", analyst="bob") == (2, "answer f01")


def test_totals_and_definitions_that_are_none_are_no_traceback(full: str) -> None:
    (balance,) = [r for r in rows_of(full, "ledger_balances") if r["account"] == "south"]
    for nonsense in ("", "[]", '{"0:epsilon": 3}', '{"0:epsilon": "1/0"}', '{"0:epsilon": "x"}'):
        put(full, "ledger_balances", balance, totals=nonsense)
        with Ledger(full) as ledger, pytest.raises(LedgerCorrupted):
            ledger.account("south").reserve(PureDP(epsilon=0.125))
        found_out(full)
    for nonsense in ("", "[]", "{}", '{"name": 3}'):
        put(full, "ledger_accounts", {"name": "south"}, definition=nonsense)
        with Ledger(full) as ledger, pytest.raises(LedgerCorrupted):
            ledger.account("south")
        found_out(full)


def test_last_bits_of_moments_may_differ_between_machines_and_nothing_else(location: str) -> None:
    """Exponentials differ in the last bit from processor to processor; sums of epsilons do not."""
    with Ledger(location) as ledger:
        plain = AccountDefinition(name="south", epsilon=1.0, delta=1e-6, datasets=("patients",))
        ledger.open_account(plain).reserve(PureDP(epsilon=0.01))
    (balance,) = rows_of(location, "ledger_balances")
    totals = json.loads(balance["totals"])
    moments = {m: Fraction(t) for m, t in totals.items() if ":moment" in m and t}
    exact = {m: Fraction(t) for m, t in totals.items() if ":moment" not in m and t}
    assert moments
    assert exact

    def changed_by(meter: str, total: Fraction) -> None:
        put(location, "ledger_balances", balance, totals=json.dumps({**totals, meter: str(total)}))

    with Ledger(location) as ledger:
        for meter, total in moments.items():
            changed_by(meter, total * (1 + Fraction(1, 2**52)))
            ledger.verify()
            changed_by(meter, total * (1 - Fraction(1, 2**30)))
            with pytest.raises(LedgerCorrupted, match="totals"):
                ledger.verify()
        for meter, total in exact.items():
            changed_by(meter, total * (1 + Fraction(1, 2**52)))
            with pytest.raises(LedgerCorrupted, match="totals"):
                ledger.verify()
