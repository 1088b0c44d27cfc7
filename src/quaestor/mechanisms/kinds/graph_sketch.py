"""A private sketch of a graph, which answers any number of cut queries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from quaestor.accounting import releases
from quaestor.accounting.papers.sketch_sizes import check_probability
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.kinds.graphs import edges_of
from quaestor.mechanisms.kinds.sketch import Sketch, SketchAnswer, answered, grid_of
from quaestor.mechanisms.samplers.normals import standard_normals

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from numpy.typing import NDArray

    from quaestor.mechanisms.kinds.graphs import Edges

__all__ = ["GraphSketch", "SketchedGraph"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSketch(Sketch):
    r"""A sketch of ``rows`` rows of a graph's Laplacian, hidden by ``weight``, for cut queries.

    The nodes are public, the edges private; neighbours differ in the weight of one edge, by at most
    ``sensitivity``, and no weight may be above it. ``weight``/n is added to the weight of every
    pair of the n nodes, which takes a cut of s nodes up by ws(n - s)/n, a known number.

    A row is :math:`\sqrt w(z - \bar z)` for the complete graph, z being n normal numbers, plus
    :math:`\sqrt{w_{ij}}\,g_{ij}(e_i-e_j)` for each edge: the covariances add up to the Laplacian,
    and no pair without an edge is ever looked at. See :mod:`quaestor.mechanisms.kinds.sketch` for
    what floats mean here.

    >>> sketch = GraphSketch.for_target(epsilon=1.0, delta=1e-6, eta=0.1, nu=0.05)
    >>> sketch.rows, round(sketch.weight, 1)
    (768, 176.6)
    >>> triangle = sketch.release([(0, 1), (1, 2), (0, 2)], nodes=3)
    >>> answer = triangle.cut([0])
    >>> answer.nu, round(answer.eta, 4), round(answer.tau, 1)
    (0.05, 0.0999, 11.8)
    """

    kind: ClassVar[str] = "graph"

    @property
    def loss(self) -> releases.GraphSketch:
        """What the sketch costs; questions to it cost nothing."""
        return releases.GraphSketch(
            rows=self.rows, weight=self.weight, sensitivity=self.sensitivity
        )

    def release(self, graph: Any, *, nodes: int | None = None) -> SketchedGraph:
        """Draw the sketch of a graph.

        ``graph`` is an undirected networkx graph, a symmetric matrix of weights (scipy.sparse or
        dense), or, with ``nodes`` saying how many there are, a list of edges: pairs of numbers from
        0 on, or triples with a weight.
        """
        edges = edges_of(graph, nodes=nodes, largest=self.sensitivity)
        step = grid_of(math.sqrt(self.weight))
        rows = _drawn(edges, rows=self.rows, weight=self.weight, step=step)
        return SketchedGraph(mechanism=self, rows=rows, names=edges.names)


def _drawn(edges: Edges, *, rows: int, weight: float, step: float) -> NDArray[np.float64]:
    """Rows whose covariance is the Laplacian of the graph with the weight added, on the grid."""
    size, roots = edges.size, np.sqrt(edges.weights)
    drawn = np.empty((rows, size))
    for i in range(rows):
        row = drawn[i]
        normals = standard_normals(size + roots.size)
        nodes, flows = normals[:size], normals[size:]
        np.multiply(nodes - nodes.mean(), math.sqrt(weight), out=row)
        flows *= roots
        row += np.bincount(edges.heads, flows, size)
        row -= np.bincount(edges.tails, flows, size)
        np.rint(row / step, out=row)
        row *= step
    return drawn


class SketchedGraph:
    """The sketch of a graph: public, and able to answer any number of cut queries.

    >>> sketch = GraphSketch.for_target(epsilon=1.0, delta=1e-6, eta=0.5, nu=0.05)
    >>> released = sketch.release([(0, 1), (1, 2)], nodes=3)
    >>> released.nodes, released.cut([0]).nu
    ([0, 1, 2], 0.05)
    """

    def __init__(
        self,
        *,
        mechanism: GraphSketch,
        rows: NDArray[np.float64],
        names: dict[Hashable, int] | None,
    ) -> None:
        """Keep the rows, which are all there is of the graph."""
        rows.flags.writeable = False
        self.mechanism, self.rows, self._names = mechanism, rows, names

    @property
    def loss(self) -> releases.GraphSketch:
        """What the sketch cost; questions to it cost nothing."""
        return self.mechanism.loss

    @property
    def nodes(self) -> list[Any]:
        """The nodes, in the order of the columns."""
        return list(range(self.size) if self._names is None else self._names)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return int(self.rows.shape[1])

    def cut(
        self, nodes: Iterable[Hashable] | NDArray[np.bool_], *, nu: float = 0.05
    ) -> SketchAnswer:
        """The weight of the edges between these nodes and the others.

        ``nodes`` are names of a networkx graph's nodes, numbers otherwise, or an array of truth
        values in the order of :attr:`nodes`. An empty side makes an empty cut.
        """
        nu = check_probability("nu", nu)
        inside = self._chosen(nodes)
        twice = 2 * np.count_nonzero(inside)
        if twice > self.size or (twice == self.size and inside[0]):
            inside = ~inside  # the same cut from its smaller side, of two halves always the same
        count = int(np.count_nonzero(inside))
        added = self.mechanism.weight * count * (self.size - count) / self.size
        projected = self.rows @ inside.astype(np.float64)
        blur = count * grid_of(math.sqrt(self.mechanism.weight))
        return answered(projected, added=added, blur=blur, nu=nu)

    def _chosen(self, nodes: Any) -> NDArray[np.bool_]:
        if isinstance(nodes, np.ndarray) and nodes.dtype == np.bool_:
            if nodes.shape != (self.size,):
                valid = f"one truth value for each of the {self.size} nodes"
                raise InvalidParameter("nodes", nodes.shape, valid)
            return nodes
        chosen = np.zeros(self.size, np.bool_)
        try:
            places = [self._place(node) for node in nodes]
        except (TypeError, ValueError, KeyError, OverflowError):
            raise InvalidParameter("nodes", nodes, "some of the graph's nodes") from None
        chosen[places] = True
        return chosen

    def _place(self, node: Any) -> int:
        if self._names is not None:
            return self._names[node]
        if isinstance(node, bool | np.bool_) or int(node) != node or not 0 <= node < self.size:
            raise KeyError(node)
        return int(node)
