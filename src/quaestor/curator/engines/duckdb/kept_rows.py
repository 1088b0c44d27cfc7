"""What a question's statements returned, in temporary tables until its answer is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from quaestor.curator.engines.stop import stoppable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from quaestor.curator.kernel.engine_columns import EngineColumns

__all__ = ["DuckKeptRows"]


class DuckKeptRows:
    """Temporary tables of one cursor: nobody else sees them, and they go when it is closed.

    Like all rows, they are written to the connection's private folder if memory does not hold them.
    """

    def __init__(
        self,
        cursor: Any,
        *,
        make_views: Callable[[Any, str], None],
        fetched: Callable[[Any], EngineColumns | list[tuple[Any, ...]]],
        locked: Sequence[object],
    ) -> None:
        self._cursor, self._make_views, self._fetched = cursor, make_views, fetched
        self._locked = locked  # files that stay so while statements read them

    def keep(self, sql: str, *, by: str = "") -> str:
        """Keep the rows of a statement; they are numbered as they are stored."""
        name = f"kept_{uuid4().hex}"
        self._make_views(self._cursor, sql)
        order = f" ORDER BY {by}" if by else ""
        with stoppable(self._cursor.interrupt):
            self._cursor.execute(f"CREATE TEMP TABLE rows_{name} AS {sql}{order}")
            self._cursor.execute(
                f"CREATE TEMP VIEW {name} AS SELECT *, rowid AS nth FROM rows_{name}"  # noqa: S608
            )
        return name

    def offer(self, numbers: NDArray[np.int64]) -> str:
        """A view of numbers that are held here."""
        import pyarrow as pa

        name = f"chosen_{uuid4().hex}"
        self._cursor.register(name, pa.table({"nth": numbers}))
        return name

    def columns(self, sql: str) -> EngineColumns | list[tuple[Any, ...]]:
        """What a statement returns that reads kept rows."""
        with stoppable(self._cursor.interrupt):
            return self._fetched(self._cursor.execute(sql))

    def close(self) -> None:
        """Close the cursor, and with it the tables."""
        self._cursor.close()
