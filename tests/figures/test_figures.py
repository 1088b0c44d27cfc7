"""Pictures are real files, the same every time, and fail kindly without matplotlib."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from quaestor import ApproxDP, compose
from quaestor.errors.base import install_command
from quaestor.figures.region import draw_regions
from quaestor.paper_figures.catalogue import PAPER_FIGURES
from quaestor.paper_figures.time_blocks import draw_time_blocks

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


def test_the_guides_figure_of_time_blocks_is_what_is_drawn(tmp_path: Path) -> None:
    out = tmp_path / "blocks.svg"
    draw_time_blocks(epsilon=0.5, delta=1e-8, most=(3, 12), months=36, out=out)
    shown = out.read_text(encoding="utf-8")
    guide = (GUIDE / "time-blocks.svg").read_text(encoding="utf-8")
    for words in ("in every month: 16.6", "in at most 12: 6", "in at most 3: 1.5"):
        assert words in shown
        assert words in guide


@pytest.mark.parametrize("number", PAPER_FIGURES)
def test_a_figure_of_the_paper_is_drawn_the_same_twice(number: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    PAPER_FIGURES[number](first)
    PAPER_FIGURES[number](second)
    assert first.read_bytes() == second.read_bytes()
    assert ET.parse(first).getroot().tag.endswith("svg")  # noqa: S314  # our own file


def test_a_region_is_drawn_as_png(tmp_path: Path) -> None:
    path = tmp_path / "region.png"
    region = compose(ApproxDP(epsilon=0.5, delta=0.01) * 3).tradeoff()
    draw_regions([("one", region.vertices())], out=path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_error_names_the_extra(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['matplotlib'] = None; from quaestor.cli.app import main; "
    command = f"{hidden}sys.argv = ['quaestor', 'region', '--figure', '2']; main()"
    done = subprocess.run(
        [sys.executable, "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert install_command("plot") in done.stderr
    assert "Traceback" not in done.stderr
