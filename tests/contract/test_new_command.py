"""A command that the package has never seen: one function, and one line that registers it."""

from collections.abc import Iterator
from typing import Annotated

import pytest
import typer

from quaestor.accounting.expressions import parse_release
from quaestor.cli.app import app
from quaestor.cli.drawing.numbers import print_json, say
from quaestor.cli.options import Json
from quaestor.errors import BudgetExceeded, InvalidParameter
from tests.cli.running import Run, run_here


def double(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="What is made twice.")],
    most: Annotated[int, typer.Option("--most", help="How often it may be made.")] = 10,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Make a release twice."""
    single, count = parse_release(release).counted()
    if most < 1:
        raise InvalidParameter("most", most, "at least 1")
    if 2 * count > most:
        raise BudgetExceeded("toy", meter="count")
    if json:
        print_json({"release": str(single * (2 * count))})
        return
    say(f"twice: {single * (2 * count)}", plain=True)


@pytest.fixture
def quaestor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    before = list(app.registered_commands)
    app.command("double")(double)
    yield run_here(monkeypatch, capsys)
    app.registered_commands[:] = before
    assert "double" not in {command.name for command in app.registered_commands}


def test_it_is_listed_and_answers_people_and_programs(quaestor: Run) -> None:
    assert "Make a release twice." in quaestor("--help").out
    assert quaestor("double", "PureDP(epsilon=0.5)").out == "twice: PureDP(epsilon=0.5) * 2\n"
    assert quaestor("double", "PureDP(epsilon=0.5) * 2", "--json").json == {
        "release": "PureDP(epsilon=0.5) * 4"
    }


def test_its_errors_are_reported_as_those_of_all_commands(quaestor: Run) -> None:
    wrong = quaestor("double", "PureDP(epsilon=0.5)", "--most", "0")
    assert (wrong.status, wrong.out) == (2, "")
    assert wrong.err.startswith("quaestor: ")
    described = quaestor("double", "PureDP(epsilon=0.5)", "--most", "0", "--json")
    assert described.status == 2
    assert (described.error["code"], described.error["field"]) == ("invalid_parameter", "most")
    refused = quaestor("double", "PureDP(epsilon=0.5)", "--most", "1", "--json")
    assert (refused.status, refused.error["code"]) == (3, "budget_exceeded")
    usage = quaestor("double", "--json")
    assert (usage.status, usage.error["code"]) == (2, "usage")
