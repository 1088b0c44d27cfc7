"""``plot()`` on every result: matplotlib's axes, with the result's own numbers on them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from matplotlib.figure import Figure

import quaestor as q
from quaestor import InvalidParameter, mechanisms
from quaestor.audit import audit
from quaestor.errors.base import install_command
from quaestor.figures.labels import in_lines
from quaestor.figures.region import draw_regions
from quaestor.ledger import AccountDefinition, BalanceHistory, BalancePoint, Ledger
from tests.documents.test_tables import preview

if TYPE_CHECKING:
    from pathlib import Path


def new_axes() -> Any:
    """Axes that belong to no window."""
    return Figure(figsize=(4.2, 4.0), layout="constrained").add_subplot()


def test_a_curve_is_drawn_at_its_upper_ends_with_one_point_marked() -> None:
    spent, axes = q.compose(q.PureDP(epsilon=0.5) * 4), new_axes()
    assert spent.plot(delta=1e-3, axes=axes) is axes
    epsilons, deltas = axes.lines[0].get_data()
    for place in (0, 40, 120):
        assert deltas[place] >= spent.delta_bounds(epsilon=float(epsilons[place])).lower
    (marked,) = axes.collections[-1].get_offsets().tolist()
    assert marked == [spent.epsilon(delta=1e-3), 1e-3]
    spent.plot(label="again", axes=axes)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["PureDP(epsilon=0.5) * 4", "again"]
    assert axes.lines[0].get_color() != axes.lines[1].get_color()


def test_a_curve_that_never_ends_and_one_that_is_nothing_are_drawn() -> None:
    for release in (q.ApproxDP(epsilon=0.1, delta=0.7), q.PureDP(epsilon=0.0), q.Gaussian(sigma=9)):
        q.compose(release).plot(axes=new_axes()).get_figure().draw_without_rendering()


def test_regions_are_drawn_at_their_corners_on_both_kinds_of_axes() -> None:
    region = q.compose(q.ApproxDP(epsilon=1.0, delta=0.125)).tradeoff()
    axes = region.plot(label="one", axes=new_axes())
    missed, alarms = axes.lines[1].get_data()
    assert list(zip(alarms, missed, strict=True)) == list(region.vertices())
    axes = region.plot(log=True, axes=new_axes())
    assert axes.get_xscale() == axes.get_yscale() == "log"
    drawn = list(zip(*axes.lines[1].get_data(), strict=True))
    assert len(drawn) > 100
    for alarm, detected in drawn[:: len(drawn) // 20]:
        bounds = region.false_negative_bounds(false_positive=float(alarm))
        assert bounds.lower - 1e-12 <= 1 - detected <= bounds.upper + 1e-12


def test_theorems_are_bars_of_their_numbers() -> None:
    explanation = q.compose(q.PureDP(epsilon=0.25) * 8).explain(delta=1e-6)
    axes = explanation.plot(axes=new_axes())
    uppers = [row.bounds.upper for row in explanation if row.bounds is not None]
    assert [bar.get_width() for bar in axes.patches] == uppers
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [row.theorem for row in explanation]
    shown = q.compose(q.PureDP(epsilon=0.25) * 8).explain(epsilon=1.0).plot(axes=new_axes())
    assert shown.get_xscale() == "log"


def test_an_audit_marks_the_test_that_proves() -> None:
    report = audit(mechanisms.Geometric(scale=1.0), neighbours=(0, 1), runs=20_000)
    axes = report.plot(axes=new_axes())
    star = axes.lines[-1]
    ((missed,), (alarm,)) = star.get_data()
    counts = report.best.counts
    flagged, wrongly = (
        counts.said_in_one / counts.runs_in_one,
        counts.said_in_zero / counts.runs_in_zero,
    )
    assert {missed, alarm} == {1 - flagged, wrongly}
    near = min(abs(p.false_negative - missed) + abs(p.false_positive - alarm) for p in report.curve)
    assert near < 0.02  # it is a point of the measured curve
    assert "proves epsilon at least" in axes.get_legend().get_texts()[-1].get_text()


def test_an_account_burns_down(tmp_path: Path) -> None:
    with Ledger(str(tmp_path / "ledger.db")) as ledger:
        account = ledger.open_account(
            AccountDefinition(name="trial", epsilon=1.0, delta=1e-6, datasets=("people",))
        )
        account.plot(axes=new_axes())  # before anything was charged
        with account.reserve(q.PureDP(epsilon=0.25)) as charge:
            charge.drawing()
            charge.release("42")
        axes = account.plot(axes=new_axes())
        left = axes.lines[0].get_ydata()
        assert left[0] == 1.0
        assert left[1] == 1 - account.history().points[-1].used
        shares = account.standing().plot(axes=new_axes()).patches
        assert sum(bar.get_width() for bar in shares) == pytest.approx(1.0)
        with pytest.raises(InvalidParameter, match="left or epsilon"):
            account.plot(of="rho")


def test_what_has_no_finite_value_is_left_out() -> None:
    history = BalanceHistory(
        account="trial",
        analyst=None,
        epsilon=1.0,
        delta=1e-6,
        meters=("epsilon",),
        points=(
            BalancePoint(1, "charged", "2026-01-01T00:00:00", "people", 0.25, 0.25, (0.25,)),
            BalancePoint(2, "charged", "2026-01-02T00:00:00", "people", float("inf"), 1.0, (None,)),
        ),
    )
    axes = history.plot(of="epsilon", axes=new_axes())
    drawn = [str(value) for value in axes.lines[0].get_ydata()]
    assert drawn == ["0.0", "0.25", "nan", "nan"]


def test_a_preview_shows_what_is_used_taken_and_left() -> None:
    axes = preview().plot(axes=new_axes())
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.125, 0.375]


@pytest.mark.parametrize(
    "call",
    [
        "q.compose(q.PureDP(epsilon=1.0)).plot()",
        "q.compose(q.PureDP(epsilon=1.0)).tradeoff().plot()",
        "q.compose(q.PureDP(epsilon=1.0)).explain(delta=1e-6).plot()",
    ],
)
def test_without_matplotlib_plot_says_what_to_install(call: str) -> None:
    code = f"import sys; sys.modules['matplotlib'] = None; import quaestor as q; {call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtra" in done.stderr
    assert install_command("plot") in done.stderr


# Labels.


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("PureDP(epsilon=0.1) * 100", ["PureDP(epsilon=0.1) * 100"]),
        (
            "SampledWithoutReplacement(release=Gaussian(sigma=1.0), sample=9, population=99) * 100",
            [
                "SampledWithoutReplacement(release=Gaussian(sigma=1.0),",
                "   sample=9, population=99) * 100",
            ],
        ),
        (
            f"ProbabilityVectors(p=[{', '.join(['0.125'] * 40)}]) * 77 + PureDP(epsilon=1.0)",
            ["ProbabilityVectors(p=[0.125, 0.125, ...) * 77", "+ PureDP(epsilon=1.0)"],
        ),
        (
            " + ".join(["PureDP(epsilon=0.1) * 1000"] * 9),
            ["PureDP(epsilon=0.1) * 1000"] + ["+ PureDP(epsilon=0.1) * 1000"] * 2 + ["+ 6 more"],
        ),
    ],
)
def test_a_label_never_loses_how_often_a_release_is_made(text: str, lines: list[str]) -> None:
    assert in_lines(text).split("\n") == lines


def test_the_legend_stays_within_the_picture(tmp_path: Path) -> None:
    seen: list[Any] = []
    region = q.compose(q.PureDP(epsilon=1.0)).tradeoff().vertices()
    long = "PoissonSampled(release=Gaussian(sigma=1.25, sensitivity=1.0), rate=0.0125) * 10000"
    original = Figure.savefig

    def kept(figure: Figure, *arguments: Any, **named: Any) -> None:
        original(figure, *arguments, **named)
        seen.append(figure)

    Figure.savefig = kept  # type: ignore[method-assign,assignment]
    try:
        draw_regions([(f"{long} + {long}", region), ("x" * 300, region)], out=tmp_path / "a.png")
    finally:
        Figure.savefig = original  # type: ignore[method-assign]
    (figure,) = seen
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y0 >= 0
