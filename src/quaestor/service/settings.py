"""What an operator decides about a service."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from typing import Self

from quaestor.errors import InvalidParameter

__all__ = ["ServiceSettings"]

_VARIABLE = "QUAESTOR_SERVICE"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Where a service listens, what it serves, and its limits. Times are in seconds."""

    catalog: str | None = None
    """The catalog's path; None: the nearest ``quaestor.toml``."""
    host: str = "127.0.0.1"
    port: int = 8080
    processes: int = 1
    time_step: float = 1.0
    """New answers and failures after a charge leave a whole number of these after the start."""
    deadline: float = 300.0
    """For how long an engine may work on one question."""
    threads: int = 32
    """How many questions a process works on at once."""
    most_jobs: int = 16
    """How many unfinished questions one analyst may have."""
    most_bytes: int = 1_000_000
    """The longest body of a request."""
    rate: float = 200.0
    """How many requests a second one address may make, over a while."""
    patience: float = 30.0
    """How long a request may take, streams aside."""
    grace: float = 30.0
    """How long a service that ends waits for questions under way."""
    dev: bool = False
    """Whether it makes a throw-away owner and prints a link to sign in with."""

    def __post_init__(self) -> None:
        """Check what would fail later, or not at all."""
        for name in ("deadline", "rate", "patience"):
            if not getattr(self, name) > 0:
                raise InvalidParameter(name, getattr(self, name), "a positive number")
        for name in ("time_step", "grace"):
            if not getattr(self, name) >= 0:
                raise InvalidParameter(name, getattr(self, name), "0 or a positive number")
        for name in ("threads", "most_jobs", "most_bytes", "processes"):
            if getattr(self, name) < 1:
                raise InvalidParameter(name, getattr(self, name), "at least 1")

    def to_environment(self) -> None:
        """Leave these for the processes that this one starts."""
        os.environ[_VARIABLE] = json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Self:
        """What :meth:`to_environment` has left; otherwise the defaults."""
        said = json.loads(os.environ.get(_VARIABLE, "{}"))
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in said.items() if name in known})
