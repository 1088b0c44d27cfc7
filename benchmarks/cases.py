"""What is measured: histories of black boxes, and two questions about each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["CASES", "QUESTIONS", "Case", "Group", "Question"]

Question = Literal["epsilon", "delta"]
QUESTIONS: tuple[Question, ...] = ("epsilon", "delta")

_GOLDEN = 0.6180339887498949  # its multiples, modulo 1, are spread evenly and never meet


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """``count`` releases that are each (epsilon, delta)-differentially private."""

    epsilon: float
    delta: float = 0.0
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A history, the delta at which epsilon is asked, and the epsilon at which delta is asked.

    Attributes:
        slow: peers need much time or memory; left out of a quick run.
    """

    name: str
    groups: tuple[Group, ...]
    delta: float
    epsilon: float
    slow: bool = False

    @property
    def count(self) -> int:
        """How many releases there are."""
        return sum(group.count for group in self.groups)

    @property
    def homogeneous(self) -> bool:
        """Whether all releases are alike."""
        return len(self.groups) == 1

    def asked(self, question: Question) -> str:
        """The question in words."""
        if question == "epsilon":
            return f"epsilon at delta {_plain(self.delta)}"
        return f"delta at epsilon {_plain(self.epsilon)}"


def _plain(number: float) -> str:
    """Like ``1e-8``, where ``%g`` would write ``1e-08``."""
    return f"{number:g}".replace("e-0", "e-")


def _alike(group: Group, *, delta: float, epsilon: float, slow: bool = False) -> Case:
    name = f"{group.count:,} x ({_plain(group.epsilon)}, {_plain(group.delta)})"
    return Case(name=name, groups=(group,), delta=delta, epsilon=epsilon, slow=slow)


_HOMOGENEOUS = (
    _alike(Group(epsilon=0.1, delta=1e-8, count=30), delta=1e-6, epsilon=2.0),
    _alike(Group(epsilon=0.1, delta=1e-12, count=1_000), delta=1e-6, epsilon=20.0),
    _alike(Group(epsilon=0.1, delta=1e-12, count=10_000), delta=1e-6, epsilon=95.0),
    _alike(Group(epsilon=0.1, delta=1e-12, count=10**5), delta=1e-6, epsilon=640.0, slow=True),
    _alike(Group(epsilon=0.1, delta=1e-14, count=10**6), delta=1e-6, epsilon=5400.0, slow=True),
    _alike(Group(epsilon=1e-4, delta=1e-16, count=10**9), delta=1e-6, epsilon=20.0, slow=True),
)

_SMALL_DELTA = (
    _alike(Group(epsilon=0.1, count=1_000), delta=1e-12, epsilon=27.0),
    _alike(Group(epsilon=0.1, count=1_000), delta=1e-40, epsilon=46.0),
    _alike(Group(epsilon=0.01, count=10**5), delta=1e-12, epsilon=27.0),
    _alike(Group(epsilon=0.01, count=10**5), delta=1e-40, epsilon=47.0),
)

_HETEROGENEOUS = (
    Case(
        name="500 x 0.01 and 20 x 0.2",
        groups=(Group(epsilon=0.01, count=500), Group(epsilon=0.2, count=20)),
        delta=1e-6,
        epsilon=4.0,
    ),
    Case(
        name="40 different, 0.05 to 0.15",
        groups=tuple(Group(epsilon=0.05 + 0.1 * (i * _GOLDEN % 1)) for i in range(40)),
        delta=1e-6,
        epsilon=2.5,
    ),
    Case(
        name="200 decimals, 0.01 to 0.20",
        groups=tuple(Group(epsilon=i / 100, count=10) for i in range(1, 21)),
        delta=1e-6,
        epsilon=9.0,
    ),
    Case(
        name="1,000 different, (0.01 to 0.2, 1e-10)",
        groups=tuple(Group(epsilon=0.01 + 0.19 * i / 999, delta=1e-10) for i in range(1_000)),
        delta=1e-6,
        epsilon=24.0,
        slow=True,
    ),
)

CASES = _HOMOGENEOUS + _SMALL_DELTA + _HETEROGENEOUS
