"""How long sketches of large graphs and matrices take: ``python -m benchmarks.sketching``."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.machine import load, machine

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "sketches.md"

_NODES, _EDGES = 100_000, 1_000_000
_LENGTH, _WIDTH = 100_000, 50
_TARGET = {"epsilon": 1.0, "delta": 1e-6, "nu": 0.05}
_ETAS = (0.5, 0.2, 0.1)
_NOTES = f"""\
Written by `python -m benchmarks.sketching`; not edited by hand.

Sketches for epsilon 1 and delta 1e-6, whose relative error is eta but with probability 0.05. The
graph has {_NODES:,} nodes and {_EDGES:,} random edges, the matrix {_LENGTH:,} rows and {_WIDTH}
columns. *calibrate* finds rows and weight; *draw* makes the sketch from a list of edges or an
array, in one thread; *query* asks for one cut of half the nodes, or one variance. Memory is what
the process held at most so far, of which the data are a part; time is one run.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One sketch: seconds of each step."""

    what: str
    eta: float
    rows: int
    weight: float
    calibrate: float
    draw: float
    query: float
    memory: float  # GiB

    def cells(self) -> str:
        """The row of the table."""
        times = f"{self.calibrate:.2f} s | {self.draw:.1f} s | {1e3 * self.query:.0f} ms"
        each = f"{1e3 * self.draw / self.rows:.0f} ms"
        sizes = f"{self.rows} | {self.weight:.1f}"
        return f"| {self.what} | {self.eta} | {sizes} | {times} | {each} | {self.memory:.2f} GiB |"


def main() -> None:
    """Measure, show and keep."""
    before = load()
    rng = np.random.default_rng(1)
    edges = rng.integers(0, _NODES, size=(_EDGES, 2))
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    matrix = rng.normal(size=(_LENGTH, _WIDTH)) / np.sqrt(_WIDTH)
    rows = [_graph(edges, eta) for eta in _ETAS] + [_matrix(matrix, eta) for eta in _ETAS]
    lines = ["# Sketching", "", _NOTES]
    lines += [f"- {name}: {value}" for name, value in machine().items()]
    lines += [f"- load before, after: {before}, {load()}", ""]
    lines += ["| sketch | eta | rows | weight | calibrate | draw | query | a row | memory |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    lines += [row.cells() for row in rows]
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


def _graph(edges: np.ndarray[tuple[int, ...], np.dtype[np.int64]], eta: float) -> Row:
    from quaestor.mechanisms import GraphSketch

    start = time.perf_counter()
    sketch = GraphSketch.for_target(eta=eta, **_TARGET)
    calibrated = time.perf_counter()
    released = sketch.release(edges, nodes=_NODES)
    drawn = time.perf_counter()
    released.cut(np.arange(_NODES) < _NODES // 2)
    return Row(
        what="graph",
        eta=eta,
        rows=sketch.rows,
        weight=sketch.weight,
        calibrate=calibrated - start,
        draw=drawn - calibrated,
        query=time.perf_counter() - drawn,
        memory=_held(),
    )


def _matrix(matrix: np.ndarray[tuple[int, ...], np.dtype[np.float64]], eta: float) -> Row:
    from quaestor.mechanisms import MatrixSketch

    start = time.perf_counter()
    sketch = MatrixSketch.for_target(eta=eta, **_TARGET)
    calibrated = time.perf_counter()
    released = sketch.release(matrix)
    drawn = time.perf_counter()
    released.variance(np.ones(_WIDTH))
    return Row(
        what="matrix",
        eta=eta,
        rows=sketch.rows,
        weight=sketch.weight,
        calibrate=calibrated - start,
        draw=drawn - calibrated,
        query=time.perf_counter() - drawn,
        memory=_held(),
    )


def _held() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
