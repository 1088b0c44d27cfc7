"""Our Opacus accountant against a description of the interface that Opacus has."""

from __future__ import annotations

import abc
import importlib
import inspect
import json
import math
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import quaestor as q
from quaestor.interop import opacus as ours
from quaestor.interop.opacus import QuaestorAccountant

if TYPE_CHECKING:
    from collections.abc import Iterator

# What opacus/accountants/accountant.py declares (pytorch/opacus at 01c5c4c0): the parameters of
# each method besides self, those by name only after a star; and which are abstract.
INTERFACE = {
    "__init__": "()",
    "step": "(*, noise_multiplier, sample_rate)",
    "get_epsilon": "(delta, *args, **kwargs)",
    "__len__": "()",
    "mechanism": "()",
    "get_optimizer_hook_fn": "(sample_rate)",
    "state_dict": "(destination)",
    "load_state_dict": "(state_dict)",
}
ABSTRACT = ("__init__", "step", "get_epsilon", "__len__", "mechanism")


def shape(function: Any) -> str:
    """Names and kinds of the parameters, as the table above has them."""
    written, starred = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            written.append("*args")
            starred = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            written.append("**kwargs")
        else:
            if parameter.kind is parameter.KEYWORD_ONLY and not starred:
                written.append("*")
                starred = True
            written.append(parameter.name)
    return f"({', '.join(written)})"


def trained(*steps: tuple[float, float, int]) -> QuaestorAccountant:
    accountant = QuaestorAccountant()
    for noise, rate, count in steps:
        for _ in range(count):
            accountant.step(noise_multiplier=noise, sample_rate=rate)
    return accountant


@pytest.mark.parametrize("name", INTERFACE)
def test_every_method_takes_what_opacus_gives(name: str) -> None:
    assert shape(getattr(QuaestorAccountant, name)) == INTERFACE[name]


def test_private_training_costs_what_the_engine_says() -> None:
    accountant = trained((1.0, 0.01, 1000))
    assert accountant.history == [(1.0, 0.01, 1000)]
    assert len(accountant) == 1000
    exact = q.compose(q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=0.01) * 1000)
    assert accountant.get_epsilon(1e-6) == exact.epsilon(delta=1e-6)
    assert accountant.get_epsilon(delta=1e-6) == pytest.approx(2.1245, abs=1e-4)
    assert accountant.get_epsilon(delta=1e-6, alphas=[2, 3]) == exact.epsilon(delta=1e-6)


def test_a_schedule_is_kept_in_its_order_and_composed_by_kind() -> None:
    accountant = trained((1.0, 0.01, 3), (2.0, 0.01, 2), (1.0, 0.01, 4))
    assert accountant.history == [(1.0, 0.01, 3), (2.0, 0.01, 2), (1.0, 0.01, 4)]
    assert len(accountant) == 9
    assert accountant.composition.releases == (
        q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=0.01) * 7,
        q.PoissonSampled(release=q.Gaussian(sigma=2.0), rate=0.01) * 2,
    )


def test_a_history_that_is_set_from_outside_counts() -> None:
    accountant = trained((1.0, 0.01, 500))
    before = accountant.get_epsilon(delta=1e-6)
    accountant.history = [(1.0, 0.01, 1000)]
    assert accountant.get_epsilon(delta=1e-6) > before


def test_nothing_done_costs_nothing() -> None:
    accountant = QuaestorAccountant()
    assert len(accountant) == 0
    assert accountant.get_epsilon(delta=0.0) == 0.0
    assert trained((1.0, 0.0, 5), (0.0, 0.0, 5)).get_epsilon(delta=0.0) == 0.0


def test_without_noise_there_is_no_promise() -> None:
    assert trained((0.0, 0.01, 1)).get_epsilon(delta=1e-6) == math.inf


def test_without_sampling_it_is_gaussian_noise() -> None:
    exact = q.compose(q.Gaussian(sigma=20.0) * 100).epsilon(delta=1e-6)
    assert trained((20.0, 1.0, 100)).get_epsilon(delta=1e-6) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("noise", "rate"),
    [(-1.0, 0.1), (math.nan, 0.1), (math.inf, 0.1), (1.0, 1.1), (1.0, -0.1), ("1", 0.1)],
)
def test_a_step_that_makes_no_sense_is_refused_and_not_counted(noise: Any, rate: float) -> None:
    accountant = QuaestorAccountant()
    with pytest.raises(q.InvalidParameter):
        accountant.step(noise_multiplier=noise, sample_rate=rate)
    assert accountant.history == []


def test_the_hook_counts_accumulated_iterations_into_the_rate() -> None:
    accountant = QuaestorAccountant()
    hook = accountant.get_optimizer_hook_fn(sample_rate=0.01)
    hook(SimpleNamespace(noise_multiplier=1.5, accumulated_iterations=2))
    assert accountant.history == [(1.5, 0.02, 1)]


def test_the_state_goes_through_json_and_back() -> None:
    accountant = trained((1.0, 0.01, 3), (2.0, 0.02, 2))
    state = json.loads(json.dumps(accountant.state_dict()))
    other = QuaestorAccountant()
    other.load_state_dict(state)
    assert other.history == accountant.history
    other.step(noise_multiplier=2.0, sample_rate=0.02)
    assert len(other) == 6
    assert len(accountant) == 5


def test_a_saved_state_does_not_move_with_the_accountant() -> None:
    accountant = trained((1.0, 0.01, 3))
    given: dict[str, Any] = {"kept": True}
    assert accountant.state_dict(given) is given
    accountant.step(noise_multiplier=2.0, sample_rate=0.01)
    assert given == {"kept": True, "history": [(1.0, 0.01, 3)], "mechanism": "quaestor"}


def test_a_state_may_name_the_mechanism_as_opacus_does() -> None:
    accountant = QuaestorAccountant()
    state = {"history": [(1.0, 0.01, 3)], "mechanism": QuaestorAccountant.mechanism}
    accountant.load_state_dict(state)
    assert len(accountant) == 3


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"history": []},
        {"mechanism": "quaestor"},
        {"history": [], "mechanism": "rdp"},
        {"history": 3, "mechanism": "quaestor"},
        {"history": [(1.0, 0.01)], "mechanism": "quaestor"},
        {"history": [(1.0, 2.0, 1)], "mechanism": "quaestor"},
        {"history": [(1.0, 0.01, 0)], "mechanism": "quaestor"},
    ],
)
def test_another_state_is_a_value_error_and_changes_nothing(state: Any) -> None:
    accountant = trained((1.0, 0.01, 3))
    with pytest.raises(ValueError, match="must be"):
        accountant.load_state_dict(state)
    assert accountant.history == [(1.0, 0.01, 3)]


# With Opacus, and without.


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[type]:
    """A stand-in for Opacus with its abstract base class, made from the description."""

    def undefined(*_: object, **__: object) -> None:
        raise NotImplementedError

    methods = {name: abc.abstractmethod(lambda *_, **__: None) for name in ABSTRACT}
    others = {name: undefined for name in INTERFACE if name not in ABSTRACT}
    interface = abc.ABCMeta("IAccountant", (abc.ABC,), {**others, **methods})
    for name in ("opacus", "opacus.accountants", "opacus.accountants.accountant"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(
        sys.modules["opacus.accountants.accountant"], "IAccountant", interface, raising=False
    )
    yield interface
    monkeypatch.undo()
    importlib.reload(ours)


def test_where_opacus_is_installed_it_is_one_of_its_accountants(installed: type) -> None:
    reloaded: Any = importlib.reload(ours)
    assert issubclass(reloaded.QuaestorAccountant, installed)
    accountant = reloaded.QuaestorAccountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    other = reloaded.QuaestorAccountant()
    other.load_state_dict(accountant.state_dict())
    assert other.history == [(1.0, 0.01, 1)]


def test_opacus_is_not_needed() -> None:
    code = (
        "import sys\n"
        "sys.modules['opacus'] = None\n"
        "from quaestor.interop.opacus import QuaestorAccountant\n"
        "print(QuaestorAccountant.__mro__[1].__name__, 'torch' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "object False\n"
