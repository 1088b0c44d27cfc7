"""``dataset tune`` on the command line: a dry run, the real one, and the same again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.catalog.catalog_file import read_catalog
from tests.curator.hospital import write_hospital

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.cli.running import Run


def test_tuning_is_shown_paid_for_once_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quaestor: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = write_hospital(tmp_path, rows=5)
    quaestor("account", "open", "research")
    before = catalog.read_text(encoding="utf-8")
    dry = quaestor("dataset", "tune", "visits", "--epsilon", "40", "--dry-run", "--json").json
    assert [part["limit"] for part in dry["parts"]] == ["age", "rows", "groups"]
    assert dry["fits"]
    assert not dry["free"]
    shown = quaestor("dataset", "tune", "visits", "--epsilon", "40", "--dry-run")
    assert "nothing was charged" in shown.out
    assert catalog.read_text(encoding="utf-8") == before
    told = quaestor("dataset", "tune", "visits", "--epsilon", "40")
    assert told.status == 0, told.err
    assert "receipt 1" in told.out
    again = quaestor("dataset", "tune", "visits", "--epsilon", "40", "--json").json
    assert again["repeated"]
    table = read_catalog(catalog).table("visits")
    assert table is not None
    assert table.contribution is not None
    # ages are 20 to 79, and at most two visits each in different wards: seen through little noise
    limits = {each["limit"]: each for each in again["limits"]}
    assert (limits["age"]["low"], limits["age"]["high"]) in {(0, 70), (0, 100)}
    assert (table.contribution.rows, table.contribution.groups) == (2, 2)
    assert table.tuned[0].receipt == 1


def test_a_budget_that_is_not_there_is_refused_with_status_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quaestor: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = write_hospital(tmp_path)
    before = catalog.read_text(encoding="utf-8")
    quaestor("account", "open", "research")
    refused = quaestor("dataset", "tune", "visits", "--epsilon", "5000", "--json")
    assert refused.status == 3
    assert refused.error["code"] == "budget_exceeded"
    assert catalog.read_text(encoding="utf-8") == before
