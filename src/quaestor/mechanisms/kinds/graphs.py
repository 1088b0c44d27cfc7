"""Graphs in any of the usual forms, as lists of their edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quaestor.accounting.releases.base import check_count
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.grid import as_floats, were_rounded
from quaestor.mechanisms.undisclosed import Undisclosed

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from numpy.typing import NDArray

__all__ = ["Edges", "edges_of"]

_FORMS = (
    "an undirected networkx graph, a symmetric matrix of weights, or a list of edges with nodes="
)
_MOST_NODES = 2**31


class Edges(NamedTuple):
    """The edges of positive weight, each pair of nodes once, no node with itself."""

    heads: NDArray[np.int64]
    tails: NDArray[np.int64]
    weights: NDArray[np.float64]
    size: int
    names: dict[Hashable, int] | None  # None: nodes are called by their numbers


def edges_of(graph: Any, *, nodes: int | None, largest: float) -> Edges:
    """Read a graph, with all weights in [0, ``largest``], or raise :class:`InvalidParameter`.

    networkx graphs and scipy.sparse matrices are known by what they can do: neither is imported.
    The weights of parallel edges are added. Edges from a node to itself, in no cut, are left out.
    """
    if nodes is not None:
        size, names = check_count("nodes", nodes, smallest=2, largest=_MOST_NODES), None
        ends, weights = _listed(graph)
    elif hasattr(graph, "is_directed") and hasattr(graph, "edges"):
        names = {node: place for place, node in enumerate(_in_order(graph.nodes))}
        size = len(names)
        ends, weights = _of_networkx(graph, names)
    else:
        ends, weights, size = _of_matrix(graph)
        names = None
    if size < 2:
        raise InvalidParameter("graph", Undisclosed(graph), "a graph of at least two nodes")
    if ends.size and not (int(ends.min()) >= 0 and int(ends.max()) < size):
        raise InvalidParameter(
            "graph", Undisclosed(graph), "edges between nodes from 0 to nodes - 1"
        )
    _check_weights(weights, graph)
    heads, tails, weights = _merged(ends, weights, size)
    if weights.size and float(weights.max()) > largest:
        valid = f"weights of at most the sensitivity, {largest!r}, parallel edges together"
        raise InvalidParameter("graph", Undisclosed(graph), valid)
    return Edges(heads, tails, weights, size, names)


def _in_order(nodes: Iterable[Hashable]) -> list[Any]:
    """In an order of their own, for the order in which they came may tell of edges."""
    try:
        return sorted(nodes)  # if they can be compared
    except TypeError:
        return sorted(nodes, key=repr)


def _numbers(values: Any, graph: Any) -> NDArray[np.float64]:
    """As floats; what is no number is refused."""
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "fiub":
            raise InvalidParameter("graph", Undisclosed(graph), _FORMS)
        floats = as_floats(given)
    except (TypeError, ValueError):
        raise InvalidParameter("graph", Undisclosed(graph), _FORMS) from None
    if floats is None or were_rounded(values, given):
        raise InvalidParameter("graph", Undisclosed(graph), "weights that floats can hold")
    return floats


def _check_weights(weights: NDArray[np.float64], graph: Any) -> None:
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise InvalidParameter("graph", Undisclosed(graph), "weights that are numbers from 0 on")


def _listed(graph: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Pairs of nodes, or triples with a weight."""
    rows = _numbers(graph, graph)
    if rows.ndim == 1 and rows.size == 0:
        rows = rows.reshape(0, 2)
    if rows.ndim != 2 or rows.shape[1] not in {2, 3}:
        raise InvalidParameter(
            "graph", Undisclosed(graph), "rows of two nodes, or two and a weight"
        )
    ends = rows[:, :2]
    if not np.all(np.isfinite(ends)) or np.any(ends != np.floor(ends)) or np.any(ends < 0):
        raise InvalidParameter(
            "graph", Undisclosed(graph), "edges between nodes from 0 to nodes - 1"
        )
    weights = rows[:, 2] if rows.shape[1] == 3 else np.ones(len(rows))
    return np.minimum(ends, _MOST_NODES).astype(np.int64), weights


def _of_networkx(
    graph: Any, names: dict[Hashable, int]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    if graph.is_directed():
        raise InvalidParameter("graph", Undisclosed(graph), _FORMS)
    heads, tails, weights = [], [], []
    for head, tail, weight in graph.edges(data="weight", default=1.0):
        heads.append(names[head])
        tails.append(names[tail])
        weights.append(weight)
    ends = np.array([heads, tails], np.int64).T.reshape(-1, 2)
    return ends, _numbers(weights, graph)


def _of_matrix(graph: Any) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """The upper triangle of a symmetric matrix, sparse or not."""
    if hasattr(graph, "tocoo"):
        sparse = graph.tocoo()
        shape = sparse.shape
        ends = np.column_stack((sparse.row, sparse.col)).astype(np.int64)
        weights = _numbers(sparse.data, graph)
    else:
        dense = _numbers(graph, graph)
        shape = dense.shape
        if dense.ndim != 2:
            raise InvalidParameter("graph", Undisclosed(graph), _FORMS)
        places = np.nonzero(dense)
        ends, weights = np.column_stack(places), dense[places]
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InvalidParameter("graph", Undisclosed(graph), _FORMS)
    _check_weights(weights, graph)
    upper, lower = ends[:, 0] < ends[:, 1], ends[:, 0] > ends[:, 1]
    above = _merged(ends[upper], weights[upper], shape[0])
    below = _merged(ends[lower], weights[lower], shape[0])
    if not all(map(np.array_equal, above, below)):
        raise InvalidParameter("graph", Undisclosed(graph), "a symmetric matrix of weights")
    return np.column_stack(above[:2]), above[2], int(shape[0])


def _merged(
    ends: NDArray[np.int64], weights: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Each pair once, the smaller node first, in order; weights of the same pair added."""
    first, second = ends.min(axis=1, initial=size), ends.max(axis=1, initial=-1)
    kept = (first != second) & (weights != 0)
    pairs = first[kept] * size + second[kept]
    order = np.argsort(pairs, kind="stable")
    pairs, weights = pairs[order], weights[kept][order]
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    if starts.size:
        weights = np.add.reduceat(weights, starts)
    pairs = pairs[starts]
    return pairs // size, pairs % size, weights
