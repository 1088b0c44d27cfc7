"""Nothing is drawn that is not what was charged, whoever computed the charge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quaestor.curator import Curator
from quaestor.curator.pricing.offers import Offer
from quaestor.errors import EngineFailed

if TYPE_CHECKING:
    from pathlib import Path

_CATALOG = """
[tables.t]
file = "t.csv"
unit = "id"
rows = 1
groups = 1
[tables.t.columns]
id = "integer"
[accounts.a]
epsilon = 10000.0
delta = 1e-6
"""
_QUESTION = "SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS m FROM t"


@pytest.fixture
def curator(tmp_path: Path) -> Curator:
    lines = "\n".join(["id", *map(str, range(50)), ""])
    (tmp_path / "t.csv").write_text(lines, encoding="utf-8")
    (tmp_path / "quaestor.toml").write_text(_CATALOG, encoding="utf-8")
    return Curator.from_file(tmp_path / "quaestor.toml")


def test_what_was_charged_too_little_is_not_drawn(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with curator:
        curator.open_account("a")
        assert len(curator.ask(_QUESTION, epsilon=1.0)) == 1
        half = property(lambda offer: (offer.measurement.draws[0].one,))
        monkeypatch.setattr(Offer, "releases", half)
        with pytest.raises(EngineFailed):
            curator.ask(_QUESTION, epsilon=2.0)
