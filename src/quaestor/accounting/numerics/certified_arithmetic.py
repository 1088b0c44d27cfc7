"""The one context in which certifying code computes with floats.

A certified number that came out of an overflow, of a division by zero or of an undefined operation
is no longer certified, whatever it looks like: an infinite bound on an error that is divided by an
infinite moment is a plausible 0. So all three raise. Underflow does not: it only ever loses less
than 1e-300 a term, and every sum adds more than that to its upper end.

Code that expects something beyond floats (a moment that does not exist, a weight that vanishes)
must say so: clip before ``exp``, or give ``np.where`` an argument that is safe on both sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["certified_arithmetic", "rough_arithmetic"]


class certified_arithmetic:  # noqa: N801  # used as a verb phrase: with certified_arithmetic()
    """Raise :class:`~quaestor.errors.BeyondFloats` instead of computing on with inf or NaN.

    >>> with certified_arithmetic():
    ...     np.exp(np.array([1000.0]))
    Traceback (most recent call last):
    ...
    quaestor.errors.BeyondFloats: overflow encountered in exp
    """

    __slots__ = ("_state",)

    def __enter__(self) -> None:
        """Set the traps."""
        self._state = np.errstate(over="raise", divide="raise", invalid="raise", under="ignore")
        self._state.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the traps away, and name what fell into them."""
        self._state.__exit__(kind, fault, trace)
        if isinstance(fault, FloatingPointError):
            raise BeyondFloats(str(fault)) from fault


def rough_arithmetic() -> np.errstate:
    """Let inf and NaN pass, for choices that no certified number depends on."""
    return np.errstate(all="ignore")
