"""What a question's statements returned, on the executors' disks until its answer is drawn."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from quaestor.curator.kernel.engine_columns import EngineColumns

__all__ = ["SparkKeptRows"]

_BROADCAST: Final = 2**20
"""So many numbers are sent to every task; more are sent with the rows that they choose."""


class SparkKeptRows:
    """Frames that are checkpointed where they were computed: nothing computes them anew.

    A checkpoint has no plan. If the executor that holds a part of it is lost, what reads it fails:
    two statements never read two states of the data.
    """

    def __init__(
        self,
        session: Any,
        *,
        tagged: Callable[[Callable[[], Any]], Any],
        columns: Callable[[str], EngineColumns],
    ) -> None:
        """``tagged`` runs jobs so that they can be stopped."""
        self._session, self._tagged, self.columns = session, tagged, columns
        self._frames: dict[str, Any] = {}

    def keep(self, sql: str, *, by: str = "") -> str:
        """Keep the rows of a statement: sorted where they are, and numbered within each part."""
        name = f"kept_{uuid4().hex}"
        frame = self._session.sql(sql)
        if by:
            frame = frame.sortWithinPartitions(by)
        frame = frame.selectExpr("*", "monotonically_increasing_id() AS nth")
        self._frames[name] = self._tagged(frame.localCheckpoint)
        self._frames[name].createOrReplaceTempView(name)
        return name

    def offer(self, numbers: NDArray[np.int64]) -> str:
        """A view of numbers that are held here."""
        import pyarrow as pa

        name = f"chosen_{uuid4().hex}"
        frame = self._session.createDataFrame(pa.table({"nth": numbers}))
        if numbers.size <= _BROADCAST:
            frame = frame.hint("broadcast")
        self._frames[name] = frame
        frame.createOrReplaceTempView(name)
        return name

    def close(self) -> None:
        """Forget the frames, and free their disks."""
        for name, frame in self._frames.items():
            with suppress(Exception):
                self._session.catalog.dropTempView(name)
            with suppress(Exception):  # behind Connect the server does it by itself
                frame._jdf.queryExecution().logical().rdd().unpersist(False)  # noqa: SLF001, FBT003
        self._frames.clear()
