"""What a command imports before it does its work: counted in modules, never in seconds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import quaestor
from benchmarks.startup import COMMAND_LINE, write_visits
from quaestor import public_names
from quaestor.accounting.releases import RELEASES

COUNTED = """
import json, sys
sys.argv = ["quaestor", *json.loads(sys.argv[1])]
from quaestor.cli.app import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print(json.dumps(sorted(sys.modules)))
"""
QUERY = ["query", "--epsilon", "0.1", "SELECT COUNT(*) AS n, AVG(age) AS mean FROM visits"]

UNUSED = (
    *("quaestor.service", "quaestor.client", "quaestor.audit", "quaestor.interop"),
    *("quaestor.curator.reports", "quaestor.curator.inspection", "quaestor.curator.limits"),
    *("quaestor.curator.auto_bounds", "quaestor.curator.tuned_tables", "quaestor.curator.preview"),
    *("quaestor.curator.question_batch", "quaestor.curator.sql.auto_calls"),
    *("quaestor.ledger.people", "quaestor.ledger.question_jobs", "quaestor.ledger.backup"),
    *("quaestor.ledger.journal.verification", "quaestor.ledger.journal.export"),
    *("quaestor.ledger.totals.balance_history", "quaestor.accounting.membership.plan_file"),
    *("quaestor.mechanisms.registry", "quaestor.mechanisms.kinds.graph_sketch"),
    *("quaestor.mechanisms.kinds.staircase", "quaestor.accounting.releases.density_pair"),
)


def modules_of(*words: str, folder: Path | None = None) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, json.dumps(words)],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
        cwd=folder,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_accountant_imports_its_own_command_and_nothing_of_the_curator() -> None:
    imported = modules_of(*COMMAND_LINE.arguments[2:])  # without -m quaestor
    commands = {name for name in imported if name.startswith("quaestor.cli.commands.")}
    assert commands == {"quaestor.cli.commands.composition"}
    unwanted = {"quaestor.curator", "quaestor.ledger", "quaestor.public_names", "numpy", "pydantic"}
    assert not unwanted & imported


def test_the_accountant_imports_the_kinds_of_releases_that_it_was_given() -> None:
    imported = modules_of(*COMMAND_LINE.arguments[2:])
    homes = {home for name in RELEASES if (home := RELEASES[name].__module__) in imported}
    assert homes == {"quaestor.accounting.releases.black_box", "quaestor.accounting.releases.base"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What a question imports, on an account that is open."""
    folder = tmp_path_factory.mktemp("asked")
    write_visits(folder, 10)
    modules_of("account", "open", "research", folder=folder)
    return modules_of(*QUERY, folder=folder)


@pytest.mark.parametrize(
    "unwanted",
    [
        "sqlalchemy",
        "alembic",
        "asyncio",
        "pydantic",
        "pyarrow",
        "pandas",
        "ibis",
        "psycopg",
        "scipy",
        "jinja2",
    ],
)
def test_a_question_of_a_file_imports_no_other_engine_and_no_framework(
    asked: set[str], unwanted: str
) -> None:
    assert unwanted not in asked


def test_a_question_imports_its_own_command_and_nothing_of_the_service(asked: set[str]) -> None:
    commands = {name for name in asked if name.startswith("quaestor.cli.commands.")}
    assert commands == {"quaestor.cli.commands.query"}
    assert not {name for name in asked if name.startswith(UNUSED)}


def test_importing_the_package_imports_no_mathematics() -> None:
    code = "import sys, quaestor; print([name for name in sys.modules if 'accounting' in name])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "[]\n"


def test_the_package_has_the_public_names_and_no_others() -> None:
    assert quaestor.__all__ == public_names.__all__
    assert set(public_names.__all__) <= set(dir(quaestor))
    for name in public_names.__all__:
        assert getattr(quaestor, name) is getattr(public_names, name)
    with pytest.raises(AttributeError, match="no attribute 'conpose'"):
        quaestor.conpose  # type: ignore[attr-defined]  # noqa: B018


def test_a_command_that_was_mistyped_is_still_told_the_nearest() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quaestor", "epsilom"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 2
    assert "epsilon" in done.stderr


@pytest.mark.parametrize("kind", ["planned", "dashboard", "open", "blocks"])
def test_an_account_of_any_policy_is_read_by_whoever_imports_only_its_definition(kind: str) -> None:
    code = (
        "import sys\n"
        "from quaestor.ledger.definition import AccountDefinition\n"
        "from quaestor.ledger.policies.base import policy_from_dict\n"
        "try:\n"
        "    policy_from_dict({'kind': sys.argv[1]})\n"
        "except (KeyError, TypeError):\n"  # known, and its other fields are missed
        "    print('known')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, kind], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "known\n"
