"""Faults outside the kernel leave answers private; faults inside it are noticed."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.curator.kernel.mutate import FAULTS, copied, planted

SOURCES = Path(__file__).parents[3] / "src" / "quaestor"
KERNEL = re.compile(r"curator/(kernel|scalars|engines/\w+/dialect\.py)")


def _became(ids: list[str], engine: str | None = None) -> dict[str, str]:
    """The faults that did not become what they should, with what was said of them."""
    chosen = [fault for fault in FAULTS if fault.id in ids]
    with copied() as sources:
        verdicts = [
            planted(fault, sources, engine=engine, at=at) for at, fault in enumerate(chosen)
        ]
    return {v.fault.id: f"{v.became}: {v.said}" for v in verdicts if not v.right}


def _sample(where: str, size: int) -> list[str]:
    return random.Random(f"some {where}").sample([f.id for f in FAULTS if f.where == where], size)


def test_every_fault_can_be_planted() -> None:
    for fault in FAULTS:
        compile(fault.text(SOURCES), fault.file, "exec")
        assert bool(KERNEL.match(fault.file)) == (fault.where == "inside"), fault.id
    assert max(Counter(fault.id for fault in FAULTS).values()) == 1
    counts = Counter(fault.where for fault in FAULTS)
    assert counts["outside"] >= 40
    assert counts["inside"] >= 20


# On PostgreSQL, which takes half as long; the slow test asks where each fault shows.


def test_a_fault_outside_leaves_answers_private() -> None:
    assert not _became(_sample("outside", 1), engine="postgres")


def test_a_fault_inside_is_noticed() -> None:
    assert not _became(_sample("inside", 1), engine="postgres")


@pytest.mark.slow
@pytest.mark.parametrize("where", ["outside", "inside"])
def test_all_faults_become_what_they_should(where: str) -> None:
    assert not _became([fault.id for fault in FAULTS if fault.where == where])
