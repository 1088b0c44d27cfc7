"""Sketches: their exact delta, the rows and weights that follow, and the papers' formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf

from quaestor import GaussianDP, GraphSketch, InvalidParameter, MatrixSketch, compose
from quaestor.accounting.numerics.balls import outward, working_precision
from quaestor.accounting.numerics.chi_square import chi_square_tails
from quaestor.accounting.papers import sketch_sizes as sketching
from quaestor.accounting.theorems import privacy_loss
from tests.oracles import sketches as oracle

WIDTH = 1e-3

# The delta.


@pytest.mark.parametrize(
    ("rows", "weight", "at"),
    [(96, 40.0, 1.0), (1, 2.0, 0.5), (7, 16.0, 2.0), (768, 128.0, 1.0), (30, 8.0, 0.0)],
)
def test_the_delta_of_a_graph_sketch_is_that_of_its_densities(
    rows: int, weight: float, at: float
) -> None:
    ways = [
        oracle.graph_delta(rows=rows, excess=2 / weight, at=at, wider=wider)
        for wider in (True, False)
    ]
    found = compose(GraphSketch(rows=rows, weight=weight)).delta_bounds(epsilon=at)
    assert abs(max(ways) - mpf(found.upper)) <= 1e-9 * max(ways)
    assert found.relative_width <= 1e-12


@pytest.mark.parametrize(
    ("rows", "weight", "at"),
    [(96, 40.0, 1.0), (2, 2.0, 0.5), (9, 4.0, 3.0), (768, 118.0, 1.0), (30, 8.0, 0.0)],
)
def test_the_delta_of_a_matrix_sketch_is_that_of_its_densities(
    rows: int, weight: float, at: float
) -> None:
    truth = oracle.matrix_delta(rows=rows, weight=weight, at=at)
    found = compose(MatrixSketch(rows=rows, weight=weight)).delta_bounds(epsilon=at)
    assert found.lower <= truth * (1 + mpf(10) ** -9)
    assert truth * (1 - mpf(10) ** -9) <= found.upper
    assert found.relative_width <= WIDTH


@pytest.mark.parametrize(
    ("rows", "weight", "mu", "at"), [(40, 32.0, 0.5, 1.5), (3, 4.0, 0.25, 1.0)]
)
def test_a_graph_sketch_composes_with_other_releases(
    rows: int, weight: float, mu: float, at: float
) -> None:
    truth = oracle.graph_then_gaussian_delta(rows=rows, excess=2 / weight, mu=mu, at=at)
    both = [GraphSketch(rows=rows, weight=weight), GaussianDP(mu=mu)]
    found = compose(*both).delta_bounds(epsilon=at)
    assert truth * (1 - mpf(10) ** -9) <= found.upper  # the wider world first is one of two ways
    assert abs(truth - mpf(found.upper)) <= WIDTH * truth


def test_several_sketches_are_one_with_more_rows() -> None:
    for at in (0.5, 2.0):
        once = compose(GraphSketch(rows=60, weight=32.0)).delta_bounds(epsilon=at)
        thrice = compose(GraphSketch(rows=20, weight=32.0) * 3).delta_bounds(epsilon=at)
        assert once.overlaps(thrice)
        once = privacy_loss([MatrixSketch(rows=60, weight=16.0)]).delta_bounds(epsilon=at)
        thrice = privacy_loss([MatrixSketch(rows=20, weight=16.0) * 3]).delta_bounds(epsilon=at)
        assert once.overlaps(thrice)


def test_only_the_ratio_of_weight_and_sensitivity_matters() -> None:
    for kind in (GraphSketch, MatrixSketch):
        one = compose(kind(rows=50, weight=32.0)).delta_bounds(epsilon=1.0)
        other = compose(kind(rows=50, weight=128.0, sensitivity=4.0)).delta_bounds(epsilon=1.0)
        assert one == other


# The reductions to one and to two variances.


def laplacian(weights: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(np.diag(weights.sum(axis=0)) - weights)


def test_no_neighbouring_graphs_are_further_apart_than_the_pair() -> None:
    rng = np.random.default_rng(3)
    excess, size = [], 7
    for density in (0.0, 0.2, 0.9):
        weights = np.triu(
            rng.uniform(size=(size, size)) * (rng.uniform(size=(size, size)) < density), 1
        )
        added = 5.0 / size * (1 - np.eye(size))
        other = weights.copy()
        other[1, 4] = 1.0 if density == 0.0 else rng.uniform()
        one, two = (laplacian(w + w.T + added) for w in (weights, other))
        ratios = np.linalg.eigvals(np.linalg.pinv(one) @ two).real
        ratios = ratios[ratios > 1e-6]  # but for the constant vector
        excess.append(max(np.max(ratios), 1 / np.min(ratios)) - 1)
        assert excess[-1] <= 2 / 5.0 + 1e-9
    assert excess[0] == pytest.approx(2 / 5.0)  # the empty graph


def test_no_neighbouring_matrices_are_further_apart_than_the_pair() -> None:
    rng = np.random.default_rng(4)
    weight, width = 3.0, 4
    g = 2 * math.asinh(1 / (2 * weight))
    for size in (0.0, 1.0, 10.0):
        rest, row = rng.normal(size=(3, width)) * size, rng.normal(size=width) * size
        for _ in range(50):
            change = rng.normal(size=width)
            change /= np.linalg.norm(change)
            base = rest.T @ rest + weight**2 * np.eye(width)
            one, two = base + np.outer(row, row), base + np.outer(row + change, row + change)
            logs = np.sort(np.log(np.linalg.eigvals(np.linalg.solve(one, two)).real))
            assert np.max(np.abs(logs)) <= g + 1e-9
            assert np.all(np.abs(logs[1:-1]) <= 1e-9)  # one above, one below, the others equal
    row, change = np.eye(width)[0] * 1e4, np.eye(width)[1]
    one = np.outer(row, row) + weight**2 * np.eye(width)
    two = np.outer(row + change, row + change) + weight**2 * np.eye(width)
    logs = np.sort(np.log(np.linalg.eigvals(np.linalg.solve(one, two)).real))
    assert logs[[0, -1]] == pytest.approx([-g, g], rel=1e-6)


# Rows and weights.


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 501, 4000])
@pytest.mark.parametrize("share", [0.01, 0.7, 1.0, 1.1, 3.0])
def test_tails_of_chi_square(degrees: int, share: float) -> None:
    with mp.workdps(60), working_precision(160):
        x = mpf(degrees) / 2 * mpf(share)
        below, above = chi_square_tails(degrees, arb(degrees) / 2 * arb(share))
        truths = (
            mp.gammainc(mpf(degrees) / 2, 0, x, regularized=True),
            mp.gammainc(mpf(degrees) / 2, x, regularized=True),
        )
        for ball, truth in zip((below, above), truths, strict=True):
            bounds = outward(ball)
            assert bounds.lower <= truth <= bounds.upper
            assert bounds.width <= 1e-15


@pytest.mark.parametrize(("eta", "nu"), [(0.1, 0.05), (0.25, 1e-3), (0.5, 0.3), (1.5, 1e-9)])
def test_the_least_rows_keep_the_error_and_one_fewer_does_not(eta: float, nu: float) -> None:
    rows = sketching.least_rows(eta=eta, nu=nu)
    assert oracle.missed(rows=rows, eta=eta) <= nu < oracle.missed(rows=rows - 1, eta=eta)
    exact = sketching.relative_error(rows=rows, nu=nu)
    assert exact <= eta
    assert oracle.missed(rows=rows, eta=exact) <= nu
    assert oracle.missed(rows=rows, eta=exact * (1 - 1e-9)) > nu


@pytest.mark.parametrize("sensitivity", [1.0, 3.0])
def test_the_least_weight_keeps_the_target_and_less_does_not(sensitivity: float) -> None:
    target = {"rows": 60, "epsilon": 0.8, "delta": 1e-5}
    at, delta = target["epsilon"], target["delta"]
    weight = sketching.least_weight("graph", sensitivity=sensitivity, **target)  # type: ignore[arg-type]
    for factor, keeps in ((1.0, True), (0.9999, False)):
        excess = 2 * sensitivity / (weight * factor)
        worst = max(
            oracle.graph_delta(rows=60, excess=excess, at=at, wider=wider)
            for wider in (True, False)
        )
        assert (worst <= delta * (1 + 1e-9)) == keeps
    weight = sketching.least_weight("matrix", sensitivity=sensitivity, **target)  # type: ignore[arg-type]
    for factor, keeps in ((1.0, True), (0.9995, False)):
        found = oracle.matrix_delta(rows=60, weight=weight * factor / sensitivity, at=at)
        assert (found <= delta * (1 + 1e-9)) == keeps


def test_the_papers_formulas_are_private_and_ask_for_much_more() -> None:
    table = sketching.sketch_weights(epsilon=1.0, delta=1e-6, eta=0.1, nu=0.05)
    kinds = {"graph": GraphSketch, "matrix": MatrixSketch}
    for row in table:
        spent = compose(kinds[row.kind](rows=row.rows, weight=row.weight))
        assert spent.delta(epsilon=1.0) <= 1e-6
    exact = {row.kind: row.weight for row in table if row.source == "exact"}
    same = {row.kind: row for row in table if row.source == "exact, rows of the paper"}
    for row in table:
        if not row.source.startswith("exact"):
            assert row.rows == same[row.kind].rows
            assert row.weight >= 70 * same[row.kind].weight
            assert row.weight >= 140 * exact[row.kind]


# What is refused.


@pytest.mark.parametrize(
    ("function", "parameters", "field"),
    [
        (sketching.least_rows, {"eta": 0.0, "nu": 0.05}, "eta"),
        (sketching.least_rows, {"eta": math.nan, "nu": 0.05}, "eta"),
        (sketching.least_rows, {"eta": 1e-3, "nu": 1e-12}, "eta"),
        (sketching.least_rows, {"eta": 0.1, "nu": 1.0}, "nu"),
        (sketching.least_rows, {"eta": 0.1, "nu": 0.0}, "nu"),
        (sketching.relative_error, {"rows": 0, "nu": 0.5}, "rows"),
        (sketching.relative_error, {"rows": 10, "nu": -0.5}, "nu"),
        (sketching.least_weight, {"kind": "cube", "rows": 9, "epsilon": 1, "delta": 0.1}, "kind"),
        (
            sketching.least_weight,
            {"kind": "graph", "rows": 9, "epsilon": -1, "delta": 0.1},
            "epsilon",
        ),
        (sketching.least_weight, {"kind": "graph", "rows": 9, "epsilon": 1, "delta": 0.0}, "delta"),
        (
            sketching.least_weight,
            {"kind": "graph", "rows": 9.5, "epsilon": 1, "delta": 0.1},
            "rows",
        ),
    ],
)
def test_bad_targets_are_refused_by_name(
    function: Any, parameters: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidParameter) as refused:
        function(**parameters)
    assert refused.value.field == field
