"""A mechanism that the package has never seen: described, drawn, released and audited.

It is two classes, a description and what draws it, and a line in the registry of each; nothing
else in the package is told of it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

import quaestor as q
from quaestor import audit
from quaestor.accounting.releases import RELEASES
from quaestor.mechanisms import kinds, mechanism_for, registry
from quaestor.mechanisms.base import DescribedMechanism
from quaestor.mechanisms.registry import MECHANISMS
from quaestor.mechanisms.samplers.randomness import uniform_below
from tests.cli.running import Outcome, run_here

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.accounting.loss.laws.law import Law

PARTS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BentCoin(q.Release):
    """A bit that is told with probability 1/2 + bend/128, and else its opposite."""

    bend: int = 1

    def __post_init__(self) -> None:
        """Check the range."""
        if not 1 <= self.bend < PARTS:
            raise q.InvalidParameter("bend", self.bend, f"from 1 to {PARTS - 1}")

    def losses(self) -> tuple[Law, ...]:
        """The same in both directions."""
        truth = (PARTS + self.bend) / (2 * PARTS)  # a float holds it exactly
        return q.ProbabilityVectors(p=(truth, 1 - truth), q=(1 - truth, truth)).losses()[:1]


@dataclass(frozen=True, slots=True, kw_only=True)
class BentCoinMechanism(DescribedMechanism):
    """Draws it, from whole numbers alone."""

    description = BentCoin

    bend: int = 1

    @property
    def loss(self) -> BentCoin:
        """What it costs."""
        return BentCoin(bend=self.bend)

    @property
    def neighbours(self) -> tuple[int, int]:
        """The two bits."""
        return 0, 1

    @property
    def standard_error(self) -> float:
        """At most that of a coin."""
        return 0.5

    def release(self, value: int) -> int:
        """The bit, or its opposite."""
        return value ^ (uniform_below(2 * PARTS) >= PARTS + self.bend)


class StraighterClaim(BentCoinMechanism):
    """The same draws, described as if they told less."""

    @property
    def loss(self) -> BentCoin:
        """What it costs."""
        return BentCoin(bend=self.bend // 4)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(RELEASES, "BentCoin", BentCoin)
    monkeypatch.setitem(MECHANISMS, BentCoin, BentCoinMechanism)
    yield
    monkeypatch.undo()
    assert "BentCoin" not in RELEASES
    assert BentCoin not in MECHANISMS


def test_its_description_is_drawn_by_its_mechanism() -> None:
    described = q.parse_release("BentCoin(bend=32)")
    mechanism = mechanism_for(described)
    assert mechanism == BentCoinMechanism(bend=32)
    assert mechanism.loss == described
    assert {mechanism.release(0) for _ in range(1000)} == {0, 1}


def test_a_file_in_the_folder_of_kinds_is_found_by_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = (
        "from quaestor.mechanisms.kinds.geometric import Geometric\n"
        "__all__ = ['Twin']\n"
        "class Twin(Geometric):\n"
        "    pass\n"
    )
    (tmp_path / "twin_from_outside.py").write_text(text, encoding="utf-8")
    before = {kind.__name__ for kind in registry.found_kinds()}
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    after = {kind.__name__ for kind in registry.found_kinds()}
    monkeypatch.delitem(sys.modules, f"{kinds.__name__}.twin_from_outside")
    monkeypatch.delattr(kinds, "twin_from_outside")
    assert after == before | {"Twin"}
    assert before == {kind.__name__ for kind in MECHANISMS.values()} - {"BentCoinMechanism"}


def test_it_composes_to_what_its_odds_say() -> None:
    spent = q.compose(BentCoin(bend=32) * 2)  # told with odds of 3 to 1, each time
    bounds = spent.delta_bounds(epsilon=0.0)
    assert Fraction(bounds.lower) <= Fraction(1, 2) <= Fraction(bounds.upper)
    assert bounds.width < 1e-9


def test_the_auditor_clears_its_claim() -> None:
    mechanism = mechanism_for(BentCoin(bend=32))
    report = audit.audit(
        mechanism, neighbours=mechanism.neighbours, runs=20_000, confidence=0.999999
    )
    assert not report.violated
    assert report.epsilon > 0.8  # of ln 3


def test_the_auditor_catches_its_broken_twin() -> None:
    broken = StraighterClaim(bend=32)
    report = audit.audit(broken, neighbours=broken.neighbours, runs=20_000, confidence=0.999)
    assert report.violated


def test_the_command_line_knows_it_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quaestor = run_here(monkeypatch, capsys)
    released: Outcome = quaestor("release", "BentCoin(bend=32)", "--value", "1", "--json")
    assert released.json["released"] in {0, 1}
    assert released.json["error"] is None  # a bit has no distance from the truth
    sure = ("--runs", "4000", "--confidence", "0.999999")
    audited = quaestor("audit", "BentCoin(bend=32)", *sure, "--json")
    assert audited.status == 0  # 4 if the claim were false
    unknown = quaestor("release", "PureDP(epsilon=1)", "--value", "1", "--json")
    assert unknown.status == 2
    assert "BentCoinMechanism" in unknown.error["message"]
