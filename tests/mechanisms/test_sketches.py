"""Sketches of real graphs and matrices: what they answer, how far off, and what they refuse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pytest
from mpmath import betainc, erfc, mpf, sqrt
from scipy import sparse
from sklearn import datasets

import quaestor as q
from quaestor import InvalidParameter
from quaestor.mechanisms import GraphSketch, MatrixSketch
from quaestor.mechanisms.kinds.sketch import grid_of
from quaestor.mechanisms.samplers.normals import standard_normals
from tests.mechanisms.laws import chi_square
from tests.mechanisms.sources import Counted, Scripted, as_words, install, seed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ACCEPT, REJECT = 1e-4, 1e-6

GRAPHS = {
    "karate club": nx.karate_club_graph(),
    "les miserables": nx.les_miserables_graph(),
    "davis southern women": nx.davis_southern_women_graph(),
    "florentine families": nx.florentine_families_graph(),
}
MATRICES = {
    "digits": datasets.load_digits().data,
    "breast cancer": datasets.load_breast_cancer().data,
}
every_graph = pytest.mark.parametrize("name", GRAPHS)
every_matrix = pytest.mark.parametrize("name", MATRICES)


def largest(graph: Any) -> float:
    return float(max(weight for _, _, weight in graph.edges(data="weight", default=1.0)))


def true_cut(graph: Any, side: set[Any]) -> float:
    return float(nx.cut_size(graph, side, weight="weight"))


def half_of(graph: Any) -> set[Any]:
    return set(list(graph)[: len(graph) // 2])


def too_many(count: int, of: int, rate: float) -> mpf:
    """How likely at least ``count`` of ``of`` trials succeed, each with probability ``rate``."""
    return betainc(count, of - count + 1, 0, mpf(rate), regularized=True) if count else mpf(1)


def believable(count: int, of: int, rate: float) -> bool:
    """Whether so many successes are neither too many nor too few; false alarms: two in 10^4."""
    few = 1 - too_many(count + 1, of, rate) if count < of else mpf(1)
    return bool(too_many(count, of, rate) > ACCEPT and few > ACCEPT)


# Normal numbers.


def test_normal_numbers_have_the_normal_law_and_others_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed(monkeypatch, 11)
    edges = np.linspace(-3.5, 3.5, 71)
    normals = standard_normals(300_000)
    below = [mpf(0), *(erfc(-mpf(edge) / sqrt(2)) / 2 for edge in edges), mpf(1)]
    law = {i: below[i + 1] - below[i] for i in range(edges.size + 1)}
    for each, accepted in ((normals, True), (normals[::2], True), (normals * 1.02, False)):
        seen = np.searchsorted(edges, each)
        p = chi_square(seen, law)
        assert p > ACCEPT if accepted else p < REJECT


def test_neighbouring_normal_numbers_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 12)
    normals = standard_normals(200_000)
    for lag in (1, 2, 1 << 14):
        products = normals[lag:] * normals[:-lag]
        assert abs(products.mean()) * math.sqrt(products.size) < 5
        squares = (normals[lag:] ** 2 - 1) * (normals[:-lag] ** 2 - 1) / 2
        assert abs(squares.mean()) * math.sqrt(squares.size) < 5


def test_the_extreme_bits_give_finite_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Scripted(as_words([0, 2**64 - 1, 0, 2**64 - 1])))
    normals = standard_normals(4)
    assert normals[0] == pytest.approx(math.sqrt(2 * 65 * math.log(2)))
    assert np.all(np.isfinite(normals))
    assert normals[1] == 0.0


def test_an_odd_number_of_normal_numbers_is_that_many() -> None:
    assert standard_normals(7).shape == (7,)
    assert standard_normals(0).shape == (0,)


# Cuts.


@every_graph
def test_a_cut_misses_its_bounds_as_often_as_it_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 21)
    graph, trials, nu = GRAPHS[name], 600, 0.2
    sketch = GraphSketch(rows=25, weight=20.0, sensitivity=largest(graph))
    side = half_of(graph)
    truth, missed, outside = true_cut(graph, side), 0, 0
    for _ in range(trials):
        answer = sketch.release(graph).cut(side, nu=nu)
        low = (1 - answer.eta) * truth - answer.tau
        high = (1 + answer.eta) * truth + answer.tau
        missed += not low <= answer.value <= high
        outside += truth not in answer.bounds
    assert believable(missed, trials, nu)
    assert believable(outside, trials, nu)


def test_a_wrong_rate_would_be_noticed() -> None:
    assert believable(120, 600, 0.2)
    assert not believable(190, 600, 0.2)
    assert not believable(60, 600, 0.2)


@every_graph
def test_the_factor_of_a_cut_is_chi_square(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sum of rows squared over the covariance: 4000 rows have a standard error of 2.2 %."""
    seed(monkeypatch, 22)
    graph = GRAPHS[name]
    sketch = GraphSketch(rows=4000, weight=10.0, sensitivity=largest(graph))
    released = sketch.release(graph)
    for side in (half_of(graph), set(list(graph)[:1]), set(list(graph)[2:])):
        inside = min(len(side), len(graph) - len(side))
        added = 10.0 * inside * (len(graph) - inside) / len(graph)
        factor = (released.cut(side).value + added) / (true_cut(graph, side) + added)
        assert abs(factor - 1) < 5 * math.sqrt(2 / 4000)
        assert released.cut(side) == released.cut(set(graph) - side)


def test_the_rows_have_the_laplacian_as_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 23)
    graph = GRAPHS["florentine families"]
    size, rows, weight = len(graph), 40_000, 4.0
    released = GraphSketch(rows=rows, weight=weight).release(graph)
    truth = nx.laplacian_matrix(graph, nodelist=released.nodes).toarray() + weight * (
        np.eye(size) - 1 / size
    )
    seen = released.rows.T @ released.rows / rows
    spread = np.sqrt((np.outer(np.diag(truth), np.diag(truth)) + truth**2) / rows)
    assert np.max(np.abs(seen - truth) / spread) < 5.5
    assert np.max(np.abs(seen - truth * 1.1) / spread) > 5.5  # a tenth more would be noticed


def test_all_forms_of_a_graph_give_the_same_sketch(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = GRAPHS["karate club"]
    adjacency = nx.to_scipy_sparse_array(graph, weight="weight", dtype=float)
    edges = [(u, v, w) for u, v, w in graph.edges(data="weight")]
    sketch = GraphSketch(rows=5, weight=30.0, sensitivity=7.0)
    forms: list[Callable[[], Any]] = [
        lambda: sketch.release(graph),
        lambda: sketch.release(adjacency),
        lambda: sketch.release(sparse.csr_matrix(adjacency)),
        lambda: sketch.release(adjacency.toarray()),
        lambda: sketch.release(adjacency.toarray().astype(int)),
        lambda: sketch.release(edges, nodes=34),
        lambda: sketch.release([(v, u, w / 2) for u, v, w in edges * 2], nodes=34),
        lambda: sketch.release(np.array([*edges, (3, 3, 5.0), (0, 33, 0.0)]), nodes=34),
    ]
    drawn = []
    for form in forms:
        seed(monkeypatch, 24)
        drawn.append(form().rows)
    for rows in drawn[1:]:
        assert np.array_equal(rows, drawn[0])


def test_a_cut_may_be_asked_for_by_names_numbers_or_truth_values() -> None:
    graph = GRAPHS["davis southern women"]
    released = GraphSketch(rows=5, weight=30.0).release(graph)
    side = half_of(graph)
    mask = np.array([node in side for node in released.nodes])
    assert released.cut(side) == released.cut(list(side) * 2) == released.cut(mask)
    numbered = GraphSketch(rows=5, weight=30.0).release([(0, 1), (1, 2)], nodes=4)
    assert numbered.cut([0, 2]) == numbered.cut(np.array([0, 2])) == numbered.cut([1, 3])


def test_the_order_in_which_nodes_came_is_not_told() -> None:
    for nodes in ("edcba", [3, 1, 2], [(1, "b"), "a", 0]):
        graph, turned = nx.Graph(), nx.Graph()
        nx.add_path(graph, nodes)
        nx.add_path(turned, list(nodes)[::-1])
        one, other = (GraphSketch(rows=2, weight=9.0).release(g).nodes for g in (graph, turned))
        assert one == other
        assert set(one) == set(nodes)


def test_an_empty_side_is_an_empty_cut() -> None:
    released = GraphSketch(rows=5, weight=30.0).release([(0, 1), (1, 2)], nodes=4)
    sides: tuple[list[int], list[int]] = ([], [0, 1, 2, 3])
    for side in sides:
        answer = released.cut(side)
        assert (answer.value, answer.tau) == (0.0, 0.0)


def test_a_graph_without_edges_is_a_graph() -> None:
    for released in (
        GraphSketch(rows=400, weight=30.0).release([], nodes=4),
        GraphSketch(rows=400, weight=30.0).release(nx.empty_graph(4)),
    ):
        answer = released.cut([1], nu=1e-9)
        assert 0.0 in answer.bounds
        assert abs(answer.value) <= answer.tau


def test_edges_cost_randomness_and_pairs_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def zeros(size: int) -> bytes:
        asked.append(size)
        return bytes(size)

    install(monkeypatch, zeros)
    nodes, rows = 5000, 3
    GraphSketch(rows=rows, weight=30.0).release([(0, 1), (1, 2)], nodes=nodes)
    assert sum(asked) == 8 * rows * (nodes + 2)


# Variances.


def direction_of(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    x = np.linspace(-1.0, 2.0, matrix.shape[1])
    return np.asarray(x / np.linalg.norm(x))


@every_matrix
def test_a_variance_misses_its_bounds_as_often_as_it_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 31)
    matrix, trials, nu = MATRICES[name], 500, 0.2
    scale = float(np.linalg.norm(matrix, axis=1).max())
    sketch = MatrixSketch(rows=25, weight=4 * scale, sensitivity=scale)
    x = direction_of(matrix)
    truth, missed, outside = float(np.sum((matrix @ x) ** 2)), 0, 0
    for _ in range(trials):
        answer = sketch.release(matrix).variance(x, nu=nu)
        low = (1 - answer.eta) * truth - answer.tau
        high = (1 + answer.eta) * truth + answer.tau
        missed += not low <= answer.value <= high
        outside += truth not in answer.bounds
    assert believable(missed, trials, nu)
    assert believable(outside, trials, nu)


@every_matrix
def test_the_rows_have_the_covariance_of_the_matrix(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 32)
    matrix, rows = MATRICES[name][:200, :20], 20_000
    weight = float(np.linalg.norm(matrix, axis=1).max())
    released = MatrixSketch(rows=rows, weight=weight, sensitivity=1.0).release(matrix)
    truth = matrix.T @ matrix + weight**2 * np.eye(matrix.shape[1])
    seen = released.rows.T @ released.rows / rows
    spread = np.sqrt((np.outer(np.diag(truth), np.diag(truth)) + truth**2) / rows)
    assert np.max(np.abs(seen - truth) / spread) < 5.5
    assert np.max(np.abs(seen - truth * 1.1) / spread) > 5.5


def test_a_sparse_matrix_gives_the_sketch_of_the_dense_one(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.where(MATRICES["digits"] > 8, MATRICES["digits"], 0.0)
    sketch, drawn = MatrixSketch(rows=5, weight=200.0), []
    for form in (matrix, sparse.csr_array(matrix), sparse.coo_matrix(matrix), matrix.astype(int)):
        seed(monkeypatch, 33)
        drawn.append(sketch.release(form).rows)
    for rows in drawn[1:]:
        assert np.max(np.abs(rows - drawn[0])) <= grid_of(200.0)  # sums in another order


def test_the_variance_in_no_direction_is_nothing() -> None:
    released = MatrixSketch(rows=5, weight=200.0).release(np.ones((3, 2)))
    assert released.variance([0.0, 0.0]).value == 0.0


# Targets, losses, grids.


@pytest.mark.parametrize("kind", [GraphSketch, MatrixSketch])
def test_a_sketch_for_a_target_keeps_it(kind: type[GraphSketch | MatrixSketch]) -> None:
    sketch = kind.for_target(epsilon=0.7, delta=1e-7, eta=0.3, nu=0.1, sensitivity=2.0)
    assert q.compose(sketch.loss).delta(epsilon=0.7) <= 1e-7
    assert sketch.sensitivity == sketch.loss.sensitivity == 2.0
    interval = sketch.interval(confidence=0.9)
    assert 0.7 <= interval.lower < 1.0 < interval.upper <= 1.3


def test_the_answers_error_is_the_targets_error() -> None:
    sketch = GraphSketch.for_target(epsilon=1.0, delta=1e-6, eta=0.3, nu=0.1)
    released = sketch.release(nx.path_graph(50))
    assert released.loss == sketch.loss
    answer = released.cut(range(20), nu=0.1)
    assert 0.25 <= answer.eta <= 0.3
    assert answer.tau == pytest.approx(answer.eta * sketch.weight * 20 * 30 / 50)
    assert answer.eta < released.cut(range(20), nu=0.01).eta


def test_rows_lie_on_a_grid_that_the_data_do_not_choose() -> None:
    graph = GraphSketch(rows=5, weight=30.0).release(GRAPHS["florentine families"])
    matrix = MatrixSketch(rows=5, weight=30.0).release(np.full((3, 2), 1 / 3))
    for rows, step in ((graph.rows, grid_of(math.sqrt(30.0))), (matrix.rows, grid_of(30.0))):
        assert np.array_equal(rows / step, np.rint(rows / step))
        assert not rows.flags.writeable


# What is refused.

sketch = GraphSketch(rows=3, weight=10.0)
matrices = MatrixSketch(rows=3, weight=10.0)

VALUES: list[Callable[[], object]] = [
    lambda: sketch.release([(0, 1, math.nan)], nodes=3),
    lambda: sketch.release([(0, 1, math.inf)], nodes=3),
    lambda: sketch.release([(0, 1, -0.5)], nodes=3),
    lambda: sketch.release([(0, 1, 1.5)], nodes=3),
    lambda: sketch.release([(0, 1, 0.75), (1, 0, 0.75)], nodes=3),
    lambda: sketch.release([(0, 3)], nodes=3),
    lambda: sketch.release([(0, -1)], nodes=3),
    lambda: sketch.release([(0, 1.5)], nodes=3),
    lambda: sketch.release([(0, 12345678901234567890)], nodes=3),
    lambda: sketch.release([(0, 1, 1, 1)], nodes=3),
    lambda: sketch.release([("a", "b")], nodes=3),
    lambda: sketch.release([(0, 1), (2,)], nodes=3),
    lambda: sketch.release([], nodes=0),
    lambda: sketch.release([], nodes=1),
    lambda: sketch.release([(0, 1)], nodes=2.5),  # type: ignore[arg-type]
    lambda: sketch.release(nx.empty_graph(0)),
    lambda: sketch.release(nx.empty_graph(1)),
    lambda: sketch.release(nx.DiGraph([(0, 1)])),
    lambda: sketch.release(nx.Graph([(0, 1, {"weight": -12345.0})])),
    lambda: sketch.release(nx.Graph([(0, 1, {"weight": "12345"})])),
    lambda: sketch.release(nx.Graph([(0, 1, {"weight": None})])),
    lambda: sketch.release(nx.Graph([(0, 1, {"weight": 12345.0})])),
    lambda: sketch.release(np.array([[0.0, 1.0], [0.0, 0.0]])),
    lambda: sketch.release(np.array([[0.0, math.nan], [math.nan, 0.0]])),
    lambda: sketch.release(np.array([[0.0, -1.0], [-1.0, 0.0]])),
    lambda: sketch.release(np.ones((2, 3))),
    lambda: sketch.release(np.ones(3)),
    lambda: sketch.release(np.zeros((0, 0))),
    lambda: sketch.release(sparse.csr_array(np.ones((2, 3)))),
    lambda: sketch.release(
        sparse.coo_array((np.array([2.0, -1.0] * 2), ([0, 0, 1, 1], [1, 1, 0, 0])))
    ),
    lambda: sketch.release(None),
    lambda: sketch.release("12345"),
    lambda: matrices.release([[1.0, math.nan]]),
    lambda: matrices.release([[math.inf]]),
    lambda: matrices.release([[12345e30]]),
    lambda: matrices.release([]),
    lambda: matrices.release(np.zeros((0, 3))),
    lambda: matrices.release([1.0, 2.0]),
    lambda: matrices.release([[1.0], [1.0, 2.0]]),
    lambda: matrices.release([["12345"]]),
    lambda: matrices.release([[1j]]),
    lambda: matrices.release(sparse.csr_array(np.array([[math.nan, 1.0]]))),
    lambda: matrices.release(None),
]


@pytest.mark.parametrize("call", VALUES, ids=range(len(VALUES)))
def test_bad_data_are_refused_before_any_randomness_is_used(
    call: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Counted()
    install(monkeypatch, source)
    with pytest.raises(InvalidParameter) as refused:
        call()
    assert source.bytes == 0
    assert "12345" not in str(refused.value)


@pytest.mark.parametrize("kind", [GraphSketch, MatrixSketch])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("rows", value) for value in (0, -1, 2.5, 10**8, True)),
        *(("weight", value) for value in (0.0, -1.0, math.nan, math.inf, "1")),
        *(("sensitivity", value) for value in (0.0, -1.0, math.nan, math.inf)),
    ],
)
def test_a_bad_parameter_is_refused_by_name(kind: Any, field: str, value: object) -> None:
    with pytest.raises(InvalidParameter) as refused:
        kind(**({"rows": 5, "weight": 5.0} | {field: value}))
    assert refused.value.field == field


@pytest.mark.parametrize("kind", [GraphSketch, MatrixSketch])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("epsilon", value) for value in (0.0, -1.0, math.nan, math.inf, "1")),
        *(("delta", value) for value in (0.0, -1.0, 1.0, math.nan)),
        *(("eta", value) for value in (0.0, math.nan)),
        *(("nu", value) for value in (0.0, 1.0, math.nan)),
        *(("sensitivity", value) for value in (0.0, -1.0, math.nan)),
    ],
)
def test_a_bad_target_is_refused_by_name(kind: Any, field: str, value: object) -> None:
    target = {"epsilon": 1.0, "delta": 1e-6, "eta": 0.5, "nu": 0.1, "sensitivity": 1.0}
    with pytest.raises(InvalidParameter) as refused:
        kind.for_target(**(target | {field: value}))
    assert refused.value.field == field


QUESTIONS: list[Callable[[Any, Any], object]] = [
    lambda graph, _: graph.cut(np.ones(5, np.bool_)),
    lambda graph, _: graph.cut(np.ones((4, 1), np.bool_)),
    lambda graph, _: graph.cut([4]),
    lambda graph, _: graph.cut([-1]),
    lambda graph, _: graph.cut([0.5]),
    lambda graph, _: graph.cut([True]),
    lambda graph, _: graph.cut(["a"]),
    lambda graph, _: graph.cut([math.nan]),
    lambda graph, _: graph.cut([math.inf]),
    lambda graph, _: graph.cut(0),
    lambda graph, _: graph.cut([0], nu=0.0),
    lambda graph, _: graph.cut([0], nu=1.0),
    lambda _, matrix: matrix.variance([1.0, 2.0]),
    lambda _, matrix: matrix.variance([[1.0, 2.0, 3.0]]),
    lambda _, matrix: matrix.variance([1.0, 2.0, math.nan]),
    lambda _, matrix: matrix.variance([1.0, 2.0, 1e200]),
    lambda _, matrix: matrix.variance(["a", "b", "c"]),
    lambda _, matrix: matrix.variance([1.0, [2.0], 3.0]),
    lambda _, matrix: matrix.variance([1.0, 2.0, 3.0], nu=math.nan),
]


@pytest.mark.parametrize("ask", QUESTIONS, ids=range(len(QUESTIONS)))
def test_a_bad_question_is_refused(ask: Callable[[Any, Any], object]) -> None:
    graph, matrix = sketch.release([(0, 1)], nodes=4), matrices.release(np.ones((2, 3)))
    with pytest.raises(InvalidParameter):
        ask(graph, matrix)


def test_a_node_that_the_graph_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        sketch.release(GRAPHS["florentine families"]).cut(["Borgia"])
