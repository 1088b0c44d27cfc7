"""What ``import quaestor`` promises: its names, their words, its errors, and its lightness."""

import inspect
import math
import pickle
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import quaestor
from quaestor import errors
from quaestor.accounting import theorems
from quaestor.accounting.releases import RELEASES
from quaestor.errors import (
    AccountClosed,
    AccountExists,
    AccountOverdrawn,
    AnswerPending,
    ApprovalNeeded,
    BeyondFloats,
    BudgetExceeded,
    CertificationFault,
    ChargeSettled,
    ClockWentBack,
    ContradictoryFacts,
    EngineFailed,
    IdentityRefused,
    InconsistentAnswers,
    InvalidCatalog,
    InvalidExpression,
    InvalidHistory,
    InvalidParameter,
    InvalidPlan,
    JobUnfinished,
    KeyReused,
    LedgerCorrupted,
    LedgerUnavailable,
    MissingAddress,
    MissingExtra,
    NotAllowed,
    NotPlanned,
    NotSignedIn,
    ProviderUnavailable,
    QuaestorError,
    RefusedQuery,
    RequestRefused,
    ServiceUnreachable,
    SignInFailed,
    SourceKnown,
    SourceUnavailable,
    TargetOutOfReach,
    TheoremDoesNotApply,
    TooManyJobs,
    TooManySignIns,
    UnknownAccount,
    UnknownAnalyst,
    UnknownDatabase,
    UnknownJob,
    UnknownPerson,
    UnreadableTable,
)

HEAVY = ("scipy", "matplotlib", "numpy", "rich", "typer", "click", "mpmath", "dp_accounting")
ERRORS = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, BaseException)
]
EXAMPLES: list[QuaestorError] = [
    QuaestorError("anything"),
    InvalidParameter("delta", 2.0, "a number in [0, 1]"),
    InvalidExpression("PureDP(", 8, "expected something"),
    UnknownDatabase("nroth", near="north", known=2),
    ContradictoryFacts("All(ExactlyOne(), AtMost(0))"),
    InvalidPlan("fact 1", "m must be a whole number"),
    KeyReused("monday", account="trial"),
    AnswerPending("trial"),
    ApprovalNeeded("trial", problem="it requires approval, and this question has none"),
    InvalidHistory(file="events.txt", line=2, problem="column 1: unknown release"),
    InconsistentAnswers("delta at epsilon = 1.0", first=(0.0, 1e-9), second=(0.1, math.inf)),
    InvalidCatalog(file="quaestor.toml", line=3, problem="no rows", remedy="write  rows = 20"),
    UnreadableTable(place="visits.parquet", problem="no such file", remedy="correct the name"),
    MissingAddress("CLINIC_DATABASE"),
    RefusedQuery("MIN shows one person", remedy="ask for a quantile", text="SELECT MIN", place=7),
    TheoremDoesNotApply("needs equal releases"),
    SourceUnavailable("visits", "the server does not answer"),
    EngineFailed(),
    NotSignedIn(),
    NotAllowed(("owner",)),
    SignInFailed(),
    IdentityRefused("expired", "it took too long: sign in again"),
    ProviderUnavailable("it does not answer"),
    TooManySignIns(seconds=900),
    UnknownPerson("eve"),
    UnknownJob("0123"),
    TooManyJobs(most=16),
    JobUnfinished("0123", state="open"),
    RequestRefused("too_large", "the body has more than 1000000 bytes"),
    ServiceUnreachable("nobody answers"),
    TargetOutOfReach("no value meets the target"),
    CertificationFault("the masses sum to 0.5"),
    BeyondFloats("overflow encountered in exp"),
    MissingExtra("matplotlib", extra="plot", purpose="drawing"),
    NotPlanned("demo", asked="PureDP(epsilon=1.0)", left="nothing is left"),
    AccountExists("demo", dataset="north"),
    SourceKnown("demo", dataset="north", known_as="south", same=False),
    AccountOverdrawn("demo", reason="by current accounting it is overdrawn: delta"),
    UnknownAccount("dmeo", near="demo"),
    UnknownAnalyst("anne", account="demo", near="ann"),
    BudgetExceeded(
        "demo",
        meter="epsilon",
        amounts=(0.5, 0.25, 0.25),
        short="needs 0.5, 0.25 left, too much by 0.25",
        would_fit="PureDP(epsilon=0.25)",
        left=0,
    ),
    AccountClosed("demo"),
    ChargeSettled(3, problem="is released"),
    ClockWentBack(now="2026-01-01T00:00:00.000000Z", last="2026-01-02T00:00:00.000000Z"),
    LedgerUnavailable("disk_full", "the disk is full"),
    LedgerCorrupted("event 7 of account 'demo'", "its hash is another one"),
]


def linter_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, each by name: ruff's RUF022."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def own_words(value: Any) -> str:
    """A docstring that somebody wrote: not inherited, not made up by ``dataclass``."""
    written = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    if written is None or written.startswith(f"{value.__name__}("):
        return ""
    return inspect.cleandoc(written)


def public_members(value: type) -> dict[str, Any]:
    """Methods and properties that the class itself defines under a public name."""
    return {
        name: member.fget if isinstance(member, property) else getattr(value, name)
        for name, member in vars(value).items()
        if not name.startswith("_")
        and (
            isinstance(member, property | classmethod | staticmethod) or inspect.isfunction(member)
        )
    }


def drawn_tree() -> dict[str, str | None]:
    """Every error that the module's docstring draws, with the one it hangs from."""
    parents: dict[str, str | None] = {}
    branch: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        drawn = re.match(r"    ([ │├└─]*)([A-Z]\w+)(\s{2,}\S|$)", line)
        if drawn:
            depth, name = len(drawn[1]), drawn[2]
            branch = [entry for entry in branch if entry[0] < depth]
            parents[name] = branch[-1][1] if branch else None
            branch.append((depth, name))
    return parents


# Names.


def test_the_public_names_are_sorted_as_the_linter_has_them() -> None:
    assert quaestor.__all__ == sorted(quaestor.__all__, key=linter_order)
    assert len(set(quaestor.__all__)) == len(quaestor.__all__)


def test_a_star_import_brings_every_public_name() -> None:
    brought: dict[str, Any] = {}
    exec("from quaestor import *", brought)  # noqa: S102  # the only way to ask
    assert set(brought) - {"__builtins__"} == set(quaestor.__all__)


def test_nothing_public_is_left_out_by_mistake() -> None:
    names = {
        name
        for name, value in vars(quaestor).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }
    assert names == set(quaestor.__all__)


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    shown = {name for name in dir(quaestor) if not name.startswith("_")}
    assert shown == {*quaestor.__all__, "errors"}


def test_help_says_what_to_ask_and_where_the_rest_is() -> None:
    import pydoc

    told = pydoc.plain(pydoc.render_doc(quaestor))
    for word in ("compose(...)", "quaestor.curator", "class Gaussian", "largest_count"):
        assert word in told


@pytest.mark.parametrize("name", quaestor.__all__)
def test_every_public_name_says_what_it_is(name: str) -> None:
    value = getattr(quaestor, name)
    first = own_words(value).split("\n")[0]
    assert len(first) > 15
    assert first.endswith((".", ":")) or "\n\n" not in own_words(value)
    if inspect.isclass(value):
        for member, function in public_members(value).items():
            assert own_words(function), f"{name}.{member}"


@pytest.mark.parametrize("name", quaestor.__all__)
def test_every_public_function_takes_its_numbers_by_name(name: str) -> None:
    value = getattr(quaestor, name)
    functions = public_members(value).values() if inspect.isclass(value) else [value]
    for function in functions:
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name in {"epsilon", "delta", "prior", "false_positive", "at_most"}:
                assert parameter.kind is parameter.KEYWORD_ONLY, function


def test_the_version_is_the_installed_one() -> None:
    from importlib.metadata import version

    assert quaestor.__version__ == version("quaestor-dp")


# Errors.


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_is_public_and_hangs_in_the_tree_where_it_is_drawn(
    error: type[BaseException],
) -> None:
    assert error.__name__ in quaestor.__all__
    assert error.__name__ in errors.__all__
    assert getattr(quaestor, error.__name__) is error
    tree = drawn_tree()
    assert error.__name__ in tree
    parent = tree[error.__name__]
    ours = [base.__name__ for base in error.__bases__ if base in ERRORS]
    assert ours == ([] if parent is None else [parent])


def test_the_tree_draws_no_error_that_does_not_exist() -> None:
    assert set(drawn_tree()) == {error.__name__ for error in ERRORS}


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [vars(error)["code"] for error in ERRORS]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in codes)


def test_every_error_has_an_example_here() -> None:
    assert {type(error) for error in EXAMPLES} == set(ERRORS)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_every_error_is_a_sentence_with_fields(error: QuaestorError) -> None:
    import json

    assert str(error) != ""
    json.dumps(error.fields(), allow_nan=False)
    for name in error.fields():
        assert hasattr(error, name)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_every_error_survives_the_way_out_of_another_process(error: QuaestorError) -> None:
    back = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert back.fields() == error.fields()


# Words that stand beside the mathematics.


@pytest.mark.parametrize("name", theorems.__all__)
def test_every_theorem_says_where_it_stands(name: str) -> None:
    value = getattr(theorems, name)
    if inspect.isfunction(value):
        section = re.search(r"^Theorem:\n    \S.*", own_words(value), re.MULTILINE)
        assert section is not None


@pytest.mark.parametrize("theorem", theorems.THEOREMS, ids=lambda theorem: theorem.name)
def test_every_row_of_explain_is_a_documented_theorem(theorem: theorems.Theorem) -> None:
    name = theorem.profile.__name__
    assert name in theorems.__all__
    assert "Theorem:" in own_words(getattr(theorems, name))
    assert theorem.source != ""


def test_theorems_have_names_of_their_own() -> None:
    names = [theorem.name for theorem in theorems.THEOREMS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", sorted(RELEASES))
def test_every_release_says_what_it_guarantees(name: str) -> None:
    kind = RELEASES[name]
    assert kind.__name__ == name
    assert re.search(r"^Guarantee:\n    \S.*", own_words(kind), re.MULTILINE)
    assert name in quaestor.__all__


def test_the_changelog_begins_with_this_version() -> None:
    changelog = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    assert first is not None
    assert first[1] in {quaestor.__version__, "Unreleased"}
    assert f"## {quaestor.__version__} (" in changelog


# Lightness.


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, quaestor\n"
        "quaestor.compose(quaestor.PureDP(epsilon=0.1) * 30).epsilon(delta=1e-6)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "[]\n"


# Examples.

PACKAGES = (
    "quaestor",
    "quaestor.audit",
    "quaestor.client",
    "quaestor.client.remote_curator",
    "quaestor.curator",
    "quaestor.interop.dp_accounting",
    "quaestor.interop.opacus",
    "quaestor.ledger",
    "quaestor.mechanisms",
    "quaestor.notebook",
)
PUBLIC = [(package, name) for package in PACKAGES for name in import_module(package).__all__]


@pytest.mark.parametrize(("package", "name"), PUBLIC, ids=[".".join(each) for each in PUBLIC])
def test_every_public_name_has_an_example(package: str, name: str) -> None:
    """The doctests of its module run it."""
    value = getattr(import_module(package), name)
    if not isinstance(value, tuple):  # a list of names or values is its own example
        assert ">>> " in own_words(value)
