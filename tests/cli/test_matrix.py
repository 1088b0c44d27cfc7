"""The matrix command: a named strategy, a file, a sample, and what is refused."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

import quaestor as q

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Run

COMMON = ("matrix", "--delta", "1e-6", "--sigma", "4")


@pytest.fixture
def banded(tmp_path: Path) -> str:
    file = tmp_path / "matrix.csv"
    file.write_text("1,0,0\n0.5,1,0\n\n0,0.5,1\n", encoding="utf-8")
    return str(file)


def test_a_file_is_priced_as_its_matrix(quaestor: Run, banded: str) -> None:
    told = quaestor(*COMMON, "--file", banded, "--participations", "2", "--json").json
    release = q.release_from_json(json.dumps(told["release"]))
    assert isinstance(release, q.MatrixMechanism)
    assert told["epsilon"]["upper"] == q.compose(release).epsilon(delta=1e-6)
    # columns 0 and 1: 1.25 + 1.25 + 2 * 0.5
    assert told["sensitivity"]["lower"] <= math.sqrt(3.5) <= told["sensitivity"]["upper"]
    assert told["error"]["largest"] > 4.0


def test_a_sample_is_priced_as_sampled_gaussians(quaestor: Run, banded: str) -> None:
    given = (*COMMON, "--file", banded, "--separation", "2", "--rate", "0.1")
    told = quaestor(*given, "--json").json
    assert told["release"]["count"] == 2
    assert told["sensitivity"] is None
    assert "PoissonSampled" in quaestor(*given).out


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((), "--steps"),
        (("--steps", "5", "--strategy", "binary-tree", "--bands", "2"), "bands"),
        (("--steps", "5", "--rate", "0.1"), "set bands"),
        (("--file", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_what_cannot_be_priced_is_refused(quaestor: Run, given: tuple[str, ...], says: str) -> None:
    refused = quaestor(*COMMON, *given)
    assert refused.status == 2
    assert says in refused.err


def test_a_file_that_is_not_numbers_is_refused(quaestor: Run, tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    refused = quaestor(*COMMON, "--file", str(file))
    assert refused.status == 2
    assert "numbers and commas only" in refused.err
