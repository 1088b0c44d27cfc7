"""Cases of a law: the ordinary suite has the first ones, the slow one has all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["some"]


def some(cases: Iterable[Any], few: int) -> list[Any]:
    """The cases for ``pytest.mark.parametrize``; those after the first few are slow.

    For laws of random cases, where it is the number of cases that takes long.
    """
    slow = pytest.mark.slow
    return [case if at < few else pytest.param(case, marks=slow) for at, case in enumerate(cases)]
