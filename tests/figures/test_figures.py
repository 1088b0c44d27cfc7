"""Pictures are real files, the same every time, and fail kindly without matplotlib."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure

from quaestor import ApproxDP, AtMost, InvalidParameter, PureDP, compose, compose_across
from quaestor.errors.base import install_command
from quaestor.figures.region import draw_regions
from quaestor.paper_figures.catalogue import PAPER_FIGURES
from quaestor.paper_figures.parameters import FigureParameters
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


def test_a_figure_is_drawn_for_other_numbers(tmp_path: Path) -> None:
    own = FigureParameters(epsilon=0.5, delta=1e-3, count=4)
    for number, draw in PAPER_FIGURES.items():
        draw(tmp_path / f"{number}.svg", own)
        root = ET.parse(tmp_path / f"{number}.svg").getroot()  # noqa: S314  # our own file
        assert root.tag.endswith("svg")


@pytest.mark.parametrize(
    "own",
    [
        {"epsilon": 0.0},
        {"epsilon": math.nan},
        {"epsilon": 1e9},
        {"delta": -0.1},
        {"delta": 1.0},
        {"count": 0},
        {"count": 10**9},
        {"count": 2.5},
    ],
)
def test_other_numbers_are_checked(own: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(own))):
        PAPER_FIGURES["3"](tmp_path / "a.svg", FigureParameters(**own))


def drawn_lines(draw: Any, own: FigureParameters) -> dict[str, list[tuple[float, float]]]:
    """The curves of a figure's first panel, by their names."""
    seen: list[Figure] = []
    original = Figure.savefig
    Figure.savefig = lambda figure, *_, **__: seen.append(figure)  # type: ignore[method-assign]
    try:
        draw(Path("unused.svg"), own)
    finally:
        Figure.savefig = original  # type: ignore[method-assign]
    curves: dict[str, list[tuple[float, float]]] = {}
    for line in seen[0].axes[0].lines:
        places, heights = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        points = zip(places.tolist(), heights.tolist(), strict=True)
        curves[str(line.get_label())] = list(points)
    return curves


def test_databases_cost_what_those_that_differ_cost() -> None:
    curves = drawn_lines(PAPER_FIGURES["databases"], FigureParameters(epsilon=0.5, count=3))
    added, moved = (
        curves[f"in at most 3, {how}"][-1] for how in ("added or removed", "moved elsewhere")
    )
    databases = {f"d{i}": [PureDP(epsilon=0.5)] for i in range(8)}
    for neighbours, (_, total) in (("add_remove", added), ("replace", moved)):
        known = compose_across(databases, membership=AtMost(3), neighbours=neighbours)
        assert known.epsilon_bounds(delta=1e-6).lower <= total <= known.epsilon(delta=1e-6)


def test_selections_are_drawn_in_the_order_of_what_is_known() -> None:
    curves = drawn_lines(PAPER_FIGURES["range"], FigureParameters(epsilon=0.5, count=30))
    ends = [points[-1] for points in curves.values()]
    assert {x for x, _ in ends} == {30}
    pure, first, moments, fixed, adaptive = (y for _, y in ends)
    assert pure > first > moments > adaptive >= fixed


def test_beliefs_cost_less_than_no_belief() -> None:
    curves = drawn_lines(PAPER_FIGURES["beliefs"], FigureParameters(epsilon=0.1, count=40))
    none, _, theorem, exact = (dict(points) for points in curves.values())
    assert all(exact[k] < theorem[k] < none[k] for k in exact if k > 1)
