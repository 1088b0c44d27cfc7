"""One question at many values: arrays for arrays, floats for floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    FloatArray: TypeAlias = NDArray[np.float64]
    ManyFloats: TypeAlias = Sequence[float] | NDArray[np.floating] | NDArray[np.integer]

__all__ = ["at_each", "is_many"]


def is_many(value: object) -> bool:
    """Whether it is a list, a tuple, an array or the like, and not one number."""
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def at_each(field: str, values: ManyFloats, ask: Callable[[object], float]) -> FloatArray:
    """The answers to ``ask`` at every value, in an array of the same shape.

    ``ask`` checks its value itself. Values reach it as they are: integers and fractions that are
    no floats are not rounded on the way.

    >>> at_each("delta", [1e-6, 0], lambda value: float(value) * 2)
    array([2.e-06, 0.e+00])
    """
    import numpy as np

    try:
        each = np.array(values, dtype=object)
    except ValueError:
        raise InvalidParameter(field, values, "an array whose rows have one length") from None
    answers = [ask(value) for value in each.ravel().tolist()]
    return np.array(answers, dtype=np.float64).reshape(each.shape)
