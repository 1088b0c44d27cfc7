"""Quotas through the curator: previews, answers and refusals tell of the own quota only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator import Curator
from quaestor.errors import BudgetExceeded, InvalidParameter
from tests.curator.hospital import write_hospital
from tests.curator.hostile.asking import fixed_notes

if TYPE_CHECKING:
    from pathlib import Path

COUNT = "SELECT COUNT(*) AS n FROM visits"
MEAN = "SELECT AVG(age) AS mean FROM visits"
BY_WARD = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
ACCOUNT = """
[accounts.research]
epsilon = 2.0
delta = 0
[accounts.research.quotas]
ann = { epsilon = 0.25 }
bob = { epsilon = 2.0 }
"""
PRICES: list[dict[str, Any]] = [{"epsilon": e} for e in (0.01, 0.1, 0.25, 0.3, 0.5, 1.0, 5.0)]
SIGNAL = 2**-6


def curator_of(folder: Path, accounts: str = ACCOUNT) -> Curator:
    folder.mkdir()
    curator = Curator.from_file(write_hospital(folder, accounts))
    curator.open_account("research")
    return curator


def refusal(curator: Curator, sql: str, **asked: Any) -> dict[str, Any]:
    with pytest.raises(BudgetExceeded) as refused:
        curator.ask(sql, **asked)
    return {"message": str(refused.value), **refused.value.fields()}


def seen(curator: Curator, analyst: str) -> list[Any]:
    """Everything that an analyst is told at no cost."""
    account = curator.account("research")
    found: list[Any] = [account.standing_on("visits", analyst=analyst)]
    for sql in (COUNT, BY_WARD):
        found += [curator.preview(sql, **way, analyst=analyst).to_dict() for way in PRICES]
    found += [refusal(curator, sql, epsilon=5.0, analyst=analyst) for sql in (COUNT, BY_WARD)]
    return found


def test_an_analyst_does_not_learn_what_others_were_answered(tmp_path: Path) -> None:
    """Bob asks once more if his answer is high; before, all of this told ann whether he did."""
    views = []
    for answer in ("low", "high"):
        with curator_of(tmp_path / answer) as curator:
            curator.ask(COUNT, epsilon=1.5, analyst="bob")
            if answer == "high":
                curator.ask(MEAN, epsilon=SIGNAL, analyst="bob")
            view = seen(curator, "ann")
            paid = json.loads(curator.ask(COUNT, epsilon=0.1, analyst="ann").to_json())
            del paid["columns"]  # the noise
            paid["notes"] = fixed_notes(paid["notes"])
            views.append([*view, paid, *seen(curator, "ann")])
    assert views[0] == views[1]


def test_if_the_total_lacks_the_refusal_says_nothing_more(tmp_path: Path) -> None:
    """However much is lacking; and a quota that lacks is told as if nobody else had asked."""
    told, quota_lacks = [], []
    for spent in (1.7578125, 1.9, 2.0):
        with curator_of(tmp_path / str(spent)) as curator:
            quota_lacks.append(refusal(curator, COUNT, epsilon=0.3, analyst="ann"))
            curator.ask(COUNT, epsilon=spent, analyst="bob")
            assert curator.preview(COUNT, epsilon=0.25, analyst="ann").fits  # the quota
            told.append(refusal(curator, COUNT, epsilon=0.25, analyst="ann"))
            quota_lacks.append(refusal(curator, COUNT, epsilon=0.3, analyst="ann"))
    fields = ("requested", "remaining", "difference", "would_fit", "left")
    message = "account 'research' has too little budget left. Nothing was charged"
    nothing = {"message": message, "account": "research", "meter": "total"}
    assert told == [{**nothing, **dict.fromkeys(fields)}] * 3
    assert all(each == quota_lacks[0] for each in quota_lacks)
    assert quota_lacks[0]["meter"] == "epsilon of ann's quota"
    assert quota_lacks[0]["would_fit"] == "the same question with epsilon 0.25"


def test_what_is_shown_is_named_as_a_quota(tmp_path: Path) -> None:
    with curator_of(tmp_path / "here") as curator:
        preview = curator.preview(COUNT, epsilon=0.1, analyst="ann")
        assert preview.quota_of == "ann"
        assert {one.name for one in preview.meters} == {
            "epsilon of ann's quota",
            "delta of ann's quota",
        }
        answer = curator.ask(COUNT, epsilon=0.1, analyst="ann")
        assert {name for name, _ in answer.remaining} == {one.name for one in preview.meters}
        with pytest.raises(InvalidParameter, match="analyst"):  # nobody looks without a name
            curator.preview(COUNT, epsilon=0.1)


def test_catalogs_that_say_shares_mean_the_same(tmp_path: Path) -> None:
    made = []
    for key in ("quotas", "shares"):
        accounts = ACCOUNT.replace("research.quotas", f"research.{key}")
        with curator_of(tmp_path / key, accounts) as curator:
            made.append(curator.account("research").definition.to_json())
    assert made[0] == made[1]
    assert '"shares":[{"analyst":"ann"' in made[0]
