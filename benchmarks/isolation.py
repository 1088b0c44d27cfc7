"""One measurement in one fresh process, so that nobody's memory or patience ends the run."""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import statistics
import sys
import time
import traceback
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.peers import Answer, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from benchmarks.case import Case, Question

__all__ = [
    "MEMORY_LIMIT",
    "TIME_LIMIT",
    "TOO_LONG_TO_REPEAT",
    "Failed",
    "Measured",
    "Outcome",
    "measure",
]

TIME_LIMIT = 45.0  # seconds, for importing, for the first answer, and for all repeats
MEMORY_LIMIT = 8 * 2**30  # bytes of address space
_REPEATING = 1.0  # seconds given to repeats
_FEWEST, _MOST = 3, 200  # repeats
TOO_LONG_TO_REPEAT = 10.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """An answer and its price.

    Attributes:
        first: seconds of the first call in a fresh process, after imports.
        warm: the median of later calls, each from new objects; ``first`` where there were none.
        repeats: how many later calls there were.
        memory: the largest resident size of the process, in bytes, imports included.
    """

    answer: Answer
    first: float
    warm: float
    repeats: int
    memory: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """No answer, and why not."""

    why: str


Outcome = Measured | Failed


def measure(peer: str, case: Case, question: Question, *, width: float | None = None) -> Outcome:
    """Put one question to one peer in a process of its own; a width, if any, to quaestor only."""
    spawn = multiprocessing.get_context("spawn")
    reader, writer = spawn.Pipe(duplex=False)
    process = spawn.Process(
        target=_measured, args=(writer, peer, case, question, width), daemon=True
    )
    process.start()
    writer.close()
    try:
        return _awaited(reader)
    except EOFError:
        process.join()
        return Failed(why=f"died with status {process.exitcode}")
    finally:
        process.kill()
        process.join()
        reader.close()


def _awaited(reader: Connection) -> Outcome:
    """Read signs of life until the outcome arrives; each has the full time limit."""
    while reader.poll(TIME_LIMIT):
        sign = reader.recv()
        if isinstance(sign, Measured | Failed):
            return sign
    return Failed(why=f"over {TIME_LIMIT:.0f} s")


def _measured(
    writer: Connection, peer: str, case: Case, question: Question, width: float | None
) -> None:
    """What the process does: import, answer once, answer again, report."""
    with contextlib.suppress(ValueError, OSError):  # some systems cannot limit it
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    warnings.simplefilter("ignore")
    try:
        call = _call(peer, case, question, width)
        writer.send("imported")
        answer, first = _timed(call)
        writer.send("answered")
        later = _repeated(call, first)
    except MemoryError:
        writer.send(Failed(why="out of memory"))
    except Exception as error:  # noqa: BLE001  # whatever a peer raises is its result
        traceback.print_exc()  # its text may name local files, so it stays out of the report
        writer.send(Failed(why=type(error).__name__))
    else:
        warm = statistics.median(later) if later else first
        writer.send(
            Measured(
                answer=answer, first=first, warm=warm, repeats=len(later), memory=_peak_memory()
            )
        )


def _call(peer: str, case: Case, question: Question, width: float | None) -> Callable[[], Answer]:
    if question == "one more":
        from benchmarks.peers.quaestor import one_more

        return one_more(case.groups, delta=case.delta)
    adapter, epsilon = load(peer), case.epsilon
    if width is not None:
        from benchmarks.peers.quaestor import within

        adapter = within(width)
    if question == "epsilon" or epsilon is None:
        return lambda: adapter.epsilon(case.groups, delta=case.delta)
    return lambda: adapter.delta(case.groups, epsilon=epsilon)


def _timed(call: Callable[[], Answer]) -> tuple[Answer, float]:
    start = time.perf_counter()
    answer = call()
    return answer, time.perf_counter() - start


def _repeated(call: Callable[[], Answer], first: float) -> list[float]:
    later: list[float] = []
    if first > TOO_LONG_TO_REPEAT:
        return later
    while len(later) < _FEWEST or (sum(later) < _REPEATING and len(later) < _MOST):
        later.append(_timed(call)[1])
    return later


def _peak_memory() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
