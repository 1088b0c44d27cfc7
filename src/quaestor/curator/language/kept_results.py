"""What was worked out of an object, kept beside it while both are used.

Objects of the catalog and plans never change. What is made of one is found by the object itself,
and not by its value: numbers that compare equal (1, 1.0, -0.0 and True) are not written alike. What
callers give is part of a key :func:`as_written`, for the same reason.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["KeptResults", "as_written"]

_T = TypeVar("_T")
_H = TypeVar("_H", bound="Hashable")


def as_written(given: _H) -> tuple[_H, str]:
    """What a caller gave, as part of a key: what compares equal and is another type is another one.

    >>> as_written(1) == as_written(True)
    False
    """
    return given, repr(given)


class KeptResults:
    """The latest results, each with the object that it is of. Many threads may use it."""

    def __init__(self, most: int) -> None:
        """Keep so many of them."""
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[object, Any]] = OrderedDict()

    def or_made(self, of: object, key: Hashable, make: Callable[[], _T]) -> _T:
        """What is kept of an object under a key; what is made otherwise."""
        place = (id(of), key)
        with self._lock:
            found = self._kept.get(place)
            if found is not None and found[0] is of:
                self._kept.move_to_end(place)
                kept: _T = found[1]
                return kept
        made = make()
        with self._lock:
            self._kept[place] = (of, made)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made
