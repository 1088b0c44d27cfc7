"""Opacus (PyTorch): our engine as one of its accountants, with Opacus installed or not.

>>> accountant = QuaestorAccountant()
>>> for _ in range(1000):
...     accountant.step(noise_multiplier=1.0, sample_rate=0.01)
>>> round(accountant.get_epsilon(delta=1e-6), 4)
2.1245
"""

from __future__ import annotations

import importlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from quaestor.accounting.compose import Composition, compose
from quaestor.accounting.releases import ApproxDP, Gaussian, PoissonSampled, Release
from quaestor.accounting.releases.base import check_count, check_real
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["QuaestorAccountant"]

_Step = tuple[float, float, int]


def _interface() -> Any:
    """Opacus's own base class, where there is one."""
    try:
        return importlib.import_module("opacus.accountants.accountant").IAccountant
    except ImportError:
        return object


class QuaestorAccountant(_interface()):  # type: ignore[misc]  # known only when running
    """An Opacus accountant whose epsilon is the upper end of a certified interval.

    Each step is Gaussian noise on a Poisson sample; neighbours differ by one person's presence.
    ``history`` holds ``(noise_multiplier, sample_rate, num_steps)`` and may be set from outside,
    as Opacus does when it looks for a noise multiplier.

    >>> accountant = QuaestorAccountant()
    >>> accountant.step(noise_multiplier=2.0, sample_rate=1.0)
    >>> accountant.step(noise_multiplier=2.0, sample_rate=1.0)
    >>> len(accountant), 2.0 < accountant.get_epsilon(delta=1e-6) < 4.0
    (2, True)
    """

    def __init__(self) -> None:
        self.history: list[_Step] = []
        self._known: tuple[tuple[_Step, ...], Composition] | None = None

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Count one step of the optimizer."""
        noise, rate, _ = _checked((noise_multiplier, sample_rate, 1))
        if self.history and tuple(self.history[-1][:2]) == (noise, rate):
            self.history[-1] = (noise, rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise, rate, 1))

    @property
    def composition(self) -> Composition:
        """All steps so far, for bounds, trade-offs and explanations."""
        history = _checked_history(self.history)
        if self._known is None or self._known[0] != history:
            counts: dict[Release, int] = {}
            for noise, rate, steps in history:
                release = _release(noise, rate)
                counts[release] = counts.get(release, 0) + steps
            self._known = history, compose(*(kind * count for kind, count in counts.items()))
        return self._known[1]

    def get_epsilon(self, delta: float, *_arguments: object, **_options: object) -> float:
        """The smallest epsilon known to be true at ``delta``: a sound upper bound.

        What other accountants take besides (orders, tolerances) is accepted and not needed.
        """
        return self.composition.epsilon(delta=delta)

    def __len__(self) -> int:
        """How many steps were taken."""
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name to register this accountant under."""
        return "quaestor"

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """A function for the optimizer to call after each of its steps."""

        def hook(optimizer: Any) -> None:
            self.step(
                noise_multiplier=optimizer.noise_multiplier,
                sample_rate=sample_rate * optimizer.accumulated_iterations,
            )

        return hook

    def state_dict(self, destination: Any = None) -> Any:
        """What has to be saved, as plain values, put into ``destination`` if there is one."""
        if destination is None:
            destination = OrderedDict()
        destination["history"] = list(self.history)
        destination["mechanism"] = self.mechanism()
        return destination

    def load_state_dict(self, state_dict: Any) -> None:
        """Take over what :meth:`state_dict` saved; anything else raises :class:`ValueError`."""
        if not state_dict:
            raise InvalidParameter("state_dict", state_dict, "what state_dict() returned")
        for key in ("history", "mechanism"):
            if key not in state_dict:
                raise InvalidParameter("state_dict", sorted(state_dict), f"given {key} too")
        named = state_dict["mechanism"]
        name = named() if callable(named) else named  # Opacus saves the method itself
        if name != self.mechanism():
            raise InvalidParameter("mechanism", name, repr(self.mechanism()))
        self.history = list(_checked_history(state_dict["history"]))


def _release(noise: float, rate: float) -> Release:
    if rate == 0.0:
        return ApproxDP(epsilon=0.0, delta=0.0)
    if noise == 0.0:
        return ApproxDP(epsilon=0.0, delta=1.0)
    return PoissonSampled(release=Gaussian(sigma=noise), rate=rate)


def _checked(step: tuple[object, object, object]) -> _Step:
    noise = check_real("noise_multiplier", step[0], low=0.0, high=1e150)
    rate = check_real("sample_rate", step[1], low=0.0, high=1.0)
    steps = check_count("num_steps", step[2])
    _release(noise, rate)
    return noise, rate, steps


def _checked_history(history: Iterable[Any]) -> tuple[_Step, ...]:
    try:
        steps = [(noise, rate, count) for noise, rate, count in history]
    except (TypeError, ValueError):
        valid = "a list of (noise_multiplier, sample_rate, num_steps)"
        raise InvalidParameter("history", history, valid) from None
    return tuple(map(_checked, steps))
