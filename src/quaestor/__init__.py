"""Quaestor: exactly how much privacy is lost when many private answers are given.

Describe what is released (``PureDP``, ``Gaussian``, ``Laplace``, ...; ``release * count`` for
many), and ask what all of it together loses::

    compose(...)            epsilon, delta, certified bounds, explain, the privacy region
    calibrate(...)          the least noise that meets a target
    largest_count(...)      how many releases fit
    compose_across(...)     several databases, and who can be in which
    hypothesis_bounds(...)  attackers with beliefs
    connect(...)            ask a service elsewhere

Further packages: ``quaestor.mechanisms`` draws the noise, ``quaestor.curator`` answers SQL from
private tables, ``quaestor.ledger`` keeps budgets, ``quaestor.audit`` attacks mechanisms, and
``quaestor.interop`` stands in for other libraries' accountants. Errors are in ``quaestor.errors``.

>>> import quaestor as q
>>> spent = q.compose(q.ApproxDP(epsilon=0.1, delta=1e-8) * 30)
>>> spent.epsilon(delta=1e-6)
2.3693499904651665
>>> spent.epsilon_bounds(delta=1e-6).width < 1e-15
True
"""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from quaestor import errors as errors
from quaestor.moved_modules import forward as _forward

__version__ = "0.2.0"

if _typing.TYPE_CHECKING:
    from quaestor.public_names import *  # noqa: F403  # they have their own __all__
    from quaestor.public_names import __all__ as __all__
else:  # imported when the first of them is asked for: commands that need none start sooner

    def __getattr__(name: str) -> object:
        if name == "__all__" or not name.startswith("_"):
            public = _import_module("quaestor.public_names")
            globals().update({each: getattr(public, each) for each in public.__all__})
            globals()["__all__"] = public.__all__
        if name in globals():
            return globals()[name]
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)

    def __dir__() -> list[str]:
        special = {name for name in globals() if name.startswith("__")}
        return sorted({*special, "errors", *__getattr__("__all__")})


_forward()
