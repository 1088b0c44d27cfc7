"""Events are values with a codec: what is hashed is, byte for byte, what was always hashed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor import PureDP
from quaestor.ledger import DatasetDigests, Ledger, backup_ledger, restore_ledger, stored_text
from quaestor.ledger.journal.chain import Chain
from quaestor.ledger.journal.events import (
    COLUMNS,
    KINDS,
    Event,
    event_from_text,
    event_to_text,
)
from tests.ledger.places import definition

if TYPE_CHECKING:
    from collections.abc import Iterable

FIXTURES = Path(__file__).parents[1] / "fixtures"
BOOKS = sorted(FIXTURES.glob("**/*.db"))
SMALL = PureDP(epsilon=0.01)


def written(columns: dict[str, Any]) -> str:
    """Canonical JSON, as the format says it: not by the library's own codec."""
    return json.dumps(columns, sort_keys=True, separators=(",", ":"), allow_nan=False)


def check(lines: Iterable[str]) -> set[str]:
    """Decode and encode every line, and see that its hash is of the rest; the kinds of events."""
    kinds = set()
    for line in lines:
        text = line.rstrip("\n")
        event = event_from_text(text)
        assert event_to_text(event) == text
        columns = json.loads(text)
        stored = columns.pop("hash")
        assert event.content() == written(columns)
        assert event.hash == stored == hashlib.sha256(written(columns).encode()).hexdigest()
        assert event.is_sealed
        assert event.sealed() == event
        kinds.add(event.kind)
    return kinds


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as connection:
        listed = ", ".join(COLUMNS)
        query = f"SELECT {listed} FROM ledger_events ORDER BY account, seq"  # noqa: S608  # ours
        return connection.execute(query).fetchall()


def test_there_are_ledgers_of_before() -> None:
    assert len(BOOKS) >= 4


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_event_of_before_is_written_as_it_was(path: Path) -> None:
    rows = rows_of(path)
    assert rows
    check(written(dict(zip(COLUMNS, row, strict=True))) for row in rows)
    chains: dict[str, Chain] = {}
    for event in (Event(*row) for row in rows):
        chains.setdefault(event.account, Chain(event.account)).add(event)


def test_every_kind_of_event_that_is_written_today_is_read_back(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = DatasetDigests("a" * 64, ("b" * 64,))
    account = ledger.open_account(definition(approval=50.0), declared={"patients": known})
    for decide in (account.approve, account.decline):
        decide(account.submit(SMALL, analyst="ann", query="f00"), by="bob", reason="why")
    with account.reserve(SMALL, analyst="Ünal", purpose='a "quoted" \\ purpose', key="k") as charge:
        charge.drawing()
        charge.release("42")
    ledger.refreshed("patients", version="2026-12")
    with account.reserve(SMALL * 3, query="f00") as charge:
        charge.void("a mistake")
    account.import_history({"patients": [SMALL]}, purpose="before", fixed_before="by ann, page 3")
    account.reserve(SMALL, key="left")
    backup_ledger(ledger, tmp_path / "backup.db")
    restore_ledger(tmp_path / "backup.db", tmp_path / "again.db", reason="a test")
    with Ledger(tmp_path / "again.db") as again:
        restored = again.account("trial")
        late = stored_text.later(restored.state().time, seconds=-3600)
        monkeypatch.setattr(stored_text, "now", lambda: late)
        restored.accept_clock("a test")
        restored.close()
        assert check(again.export()) == set(KINDS)
        again.verify()


@given(
    st.builds(
        Event,
        account=st.text(),
        seq=st.integers(1),
        kind=st.sampled_from(KINDS),
        entry=st.integers(0),
        **{
            name: st.text()
            for name in COLUMNS
            if name not in {"account", "seq", "kind", "entry", "hash"}
        },
    )
)
def test_any_event_is_read_back_and_every_column_is_hashed(event: Event) -> None:
    sealed = event.sealed()
    check([event_to_text(sealed)])
    for name in set(COLUMNS) - {"hash"}:
        other: dict[str, Any] = {name: 0 if name in {"seq", "entry"} else "other text"}
        forged = sealed._replace(**other)
        assert forged.is_sealed == (forged == sealed)
