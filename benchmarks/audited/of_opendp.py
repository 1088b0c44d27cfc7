"""opendp: its measurements from outside, and what its transformations hand to them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.audited.outcome import Outcome, from_outside, looked_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.audit import Primitive

__all__ = ["inside", "outside"]


def outside() -> Iterator[Outcome]:
    """Measurements, on two inputs that are as far apart as they may be."""
    import opendp.prelude as dp

    from quaestor import Gaussian, PureDP

    dp.enable_features("contrib", "floating-point")
    real = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    whole = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    one = PureDP(epsilon=1.0)
    yield from_outside(
        "opendp `make_laplace`, floats", dp.m.make_laplace(*real, 1.0), (0.0, 1.0), one
    )
    yield from_outside("opendp `make_laplace`, ints", dp.m.make_laplace(*whole, 1.0), (0, 1), one)
    yield from_outside(
        "opendp `make_gaussian`, floats",
        dp.m.make_gaussian(*real, 1.0),
        (0.0, 1.0),
        Gaussian(sigma=1.0),
    )
    yield from_outside(
        "opendp `make_randomized_response_bool`",
        dp.m.make_randomized_response_bool(prob=0.7310585786),
        (False, True),
        PureDP(epsilon=1.0000001),
    )
    clipped = _summed()
    yield from_outside(
        "opendp clamp, sum, noise", clipped >> dp.m.then_laplace(10.0), ([1, 2, 10], [1, 2]), one
    )


def _summed() -> Any:
    import opendp.prelude as dp

    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    steps: Any = dp.t
    return space >> steps.then_clamp((0, 10)) >> steps.then_sum()


def _released(transformation: Any, noise: Any, rows: Any) -> Any:
    return noise(transformation(rows))


def inside() -> Iterator[Outcome]:
    """A transformation and a measurement, called one after the other."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "floating-point")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    counted = space >> dp.t.then_count()
    letters = (
        dp.vector_domain(dp.atom_domain(T=str)),
        dp.symmetric_distance(),
    ) >> dp.t.then_count_by_categories(["a", "b"], null_category=True)
    for name, transformation, scale, neighbours in (
        ("clamp, sum", _summed(), 10.0, ([1, 2, 500], [1, 2])),
        ("clamp, sum, below", _summed(), 10.0, ([1, 2, -500], [1, 2])),
        ("count", counted, 1.0, ([1, 2, 500], [1, 2])),
        ("count by categories", letters, 1.0, (["a", "a", "z"], ["a", "a"])),
    ):
        noise = dp.m.make_laplace(transformation.output_domain, transformation.output_metric, scale)
        primitive = _measured(transformation)
        yield looked_inside(
            f"opendp {name}",
            partial(_released, transformation, noise),
            neighbours,
            [primitive],
            1.0,
        )


def _measured(transformation: Any) -> Primitive:
    """A call of a measurement, on what one row may move."""
    import opendp.prelude as dp

    from quaestor import PureDP
    from quaestor.audit import Primitive

    moved = transformation.map(1)
    return Primitive(
        owner=dp.Measurement,
        name="__call__",
        sensitivity=lambda _: float(moved),
        parameters=lambda measurement: str(measurement.input_domain),
        claim=lambda measurement: PureDP(epsilon=float(measurement.map(moved))),
    )
