"""``quaestor demo``: the curator's story on the liver study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.cli.demo.story import fresh_folder
from quaestor.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Run


def test_the_demo_tells_its_story_to_people(quaestor: Run, tmp_path: Path) -> None:
    run = quaestor("demo", "--out", str(tmp_path))
    assert (run.status, run.err) == (0, "")
    for words in (
        "400,123 laboratory results",
        "truth (demo only)",
        "from the ledger, at no cost",
        "refused: account 'study' has too little budget left",
        "the same question with epsilon",
        "Budget left after each question",
        "The ledger verified: 12 entries, no tampering found",
    ):
        assert words in run.out


def test_the_demo_tells_programs_what_happened(quaestor: Run, tmp_path: Path) -> None:
    told = quaestor("demo", "--out", str(tmp_path), "--json").json
    assert told["rows"] == 400_123
    assert [one["repeated"] for one in told["answers"]] == [False] * 12 + [True]
    assert told["answers"][0]["figures"] == told["answers"][-1]["figures"]
    left = [one["left"] for one in told["answers"]]
    assert left == sorted(left, reverse=True)
    assert told["refused"]["would_fit"].startswith("the same question")
    people = told["answers"][0]["figures"][0]
    assert people["truth"] == 15_666
    assert abs(people["off"]) < 1000  # 50 standard deviations of noise at epsilon 0.05
    # Caps bite in the join with a public table: its noise intervals exclude the truth, and its
    # whole errors hold it (each in 95 % of answers; all three are missed once in thousands).
    (join,) = (one for one in told["answers"] if one["title"] == "a join with a public table")
    (lipids,) = (one for one in join["figures"] if one["group"] == ["lipids"])
    assert lipids["truth"] == 322_517
    assert lipids["upper"] < lipids["truth"]
    held = [one["whole_lower"] <= one["truth"] <= one["whole_upper"] for one in join["figures"]]
    assert sum(held) >= 1
    with Ledger(tmp_path / "liver" / "ledger.db") as ledger:
        (checked,) = ledger.verify()
        assert checked.account == "study"


def test_a_second_demo_leaves_the_first_ones_ledger_alone(tmp_path: Path) -> None:
    assert [fresh_folder(tmp_path).name for _ in range(3)] == ["liver", "liver-2", "liver-3"]
