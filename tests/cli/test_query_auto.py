"""``AUTO`` on the command line: the split, the answer with its bounds, and the stored one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator import Curator
from tests.curator.hospital import write_hospital

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.cli.running import Run

ASKED = ("SELECT AVG(AUTO(age)) AS mean FROM visits", "--epsilon", "40")


def test_bounds_are_chosen_inside_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quaestor: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = write_hospital(tmp_path, rows=5)
    quaestor("account", "open", "research")
    shown = quaestor("preview", *ASKED)
    assert "epsilon 8 pays for a noisy histogram of age" in " ".join(shown.out.split())
    assert quaestor("preview", *ASKED, "--json").json["fits"]
    answer = quaestor("query", *ASKED, "--json").json
    (note,) = (note for note in answer["notes"] if note.startswith("Bounds were chosen"))
    assert "(epsilon 8, receipt 1): age from " in note
    assert 39 < answer["epsilon"] <= 40
    assert answer["receipt"] == 2
    again = quaestor("query", *ASKED)
    assert "it cost nothing now" in again.out
    assert quaestor("preview", *ASKED, "--json").json["free"]
    with Curator.from_file(catalog) as curator:  # as a service shows it later
        kept = curator.kept("research", 2, analyst="")
    assert kept is not None
    assert note in kept.notes
    refused = quaestor("query", "SELECT MEDIAN(AUTO(age)) FROM visits", "--epsilon", "1", "--json")
    assert refused.error["code"] == "refused_query"
    beyond = quaestor("query", ASKED[0], "--epsilon", "5000", "--json")
    assert beyond.status == 3
