"""A width that was not reached is said, to people and to programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.running import Run

RANGES = "BoundedRange(epsilon=1) * 2000"


@pytest.mark.parametrize(
    "question", [("epsilon", "--delta", "1e-6"), ("delta", "--epsilon", "360")]
)
@pytest.mark.parametrize(("width", "words"), [("1e-3", "was asked for"), ("0.9", "")])
def test_the_answer_says_whether_the_width_was_reached(
    quaestor: Run, question: tuple[str, ...], width: str, words: str
) -> None:
    assert words in quaestor(*question, "--width", width, RANGES).out
    found = quaestor(*question, "--width", width, "--json", RANGES).json["width"]
    assert found["asked"] == float(width)
    assert found["reached"] is (found["found"] <= float(width)) is (not words)


def test_nothing_is_said_of_a_width_that_nobody_asked_for(quaestor: Run) -> None:
    assert "width" not in quaestor("epsilon", "--delta", "1e-6", "--json", RANGES).json
