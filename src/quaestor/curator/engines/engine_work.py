"""How far an engine is with its statements: for the data owner alone."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EngineWork"]


class EngineWork(NamedTuple):
    """Work that an engine has under way, in tasks of its own.

    How many there are, and how fast they end, depends on rows: analysts are told phases only.

    >>> EngineWork(engine="spark", tasks=40, done=12).done
    12
    """

    engine: str
    tasks: int
    done: int
