"""Answers on the terminal or in files, in the form that was asked for; those of a plan in turn."""

from __future__ import annotations

import json as json_module
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from quaestor.cli.arguments.files import writing_to
from quaestor.cli.drawing.numbers import print_json, say
from quaestor.errors import QuaestorError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.answers.forms import Form
    from quaestor.curator.plan_question import PlanQuestion
    from quaestor.curator.session import Curator
    from quaestor.ledger import Account

__all__ = ["Shown", "show", "show_plan"]


class Shown(NamedTuple):
    """In which form an answer is wanted, and where."""

    form: Form
    out: Path | None
    plot: Path | None
    json: bool


def show(
    answer: Answer, curator: Curator | None, wanted: Shown, *, analyst: str, verbose: bool
) -> None:
    """On the terminal, or into files that one line names."""
    form, out, plot, json = wanted
    if plot is not None:
        from quaestor.curator.answers.pictures import draw

        draw(answer, out=plot)
    if out is not None:
        with writing_to(out, otherwise="; ask again, it costs nothing"):
            answer.save(out, form=form.name)
    files = {"out": out, "plot": plot}
    wrote = {name: str(file) for name, file in files.items() if file is not None}
    if out is not None and json:
        print_json({**wrote, "account": answer.account, "receipt": answer.receipt})
    elif form.name == "json" and out is None:
        read = json_module.loads(answer.to_json())
        print_json({**read, "repeated": answer.repeated, **wrote})
    elif form.name == "table" and out is None:
        _print_table(answer, curator, analyst=analyst, verbose=verbose)
    elif out is None:
        typer.echo(form.written(answer), nl=False)
    if wrote and not json:
        receipt = "" if answer.receipt is None else f", receipt {answer.receipt}"
        names = " and ".join(wrote.values())
        typer.echo(f"Wrote {names}{receipt} of account {answer.account}", err=out is None)


def _print_table(answer: Answer, curator: Curator | None, *, analyst: str, verbose: bool) -> None:
    """The answer, and what its account has left for who asks."""
    from quaestor.cli.drawing.answers import print_answer

    if curator is None:
        print_answer(answer, None, more=None, verbose=verbose)
        return
    account = curator.account(str(answer.account))
    standing = account.standing_on(answer.dataset, analyst=analyst)
    print_answer(answer, standing, more=_more(account, answer, analyst), verbose=verbose)


def _more(account: Account, answer: Answer, analyst: str) -> int | None:
    """How many more questions like this fit, by the account's own rule; None if it has no such."""
    policy = account.definition.policy
    if not policy.chosen_freely or policy.calendar is not None:
        return None
    return account.price(answer.releases, dataset=answer.dataset, analyst=analyst).times


def show_plan(  # noqa: PLR0913  # the questions, their outcomes, and how to show them
    questions: Sequence[PlanQuestion],
    outcomes: Sequence[Answer | QuaestorError],
    curator: Curator | None,
    *,
    analyst: str,
    json: bool,
    verbose: bool,
) -> None:
    """Each question of a plan with its answer, or with the reason why it has none."""
    if json:
        print_json({"questions": [_described(each) for each in outcomes]})
        return
    for number, (asked, outcome) in enumerate(zip(questions, outcomes, strict=True), start=1):
        if number > 1:
            say("", plain=True)
        say(f"{number}. {asked.question}", plain=True)
        if isinstance(outcome, QuaestorError):
            say(f"not answered: {outcome}", plain=True)
        else:
            _print_table(outcome, curator, analyst=analyst, verbose=verbose)
    failed = sum(isinstance(each, QuaestorError) for each in outcomes)
    if failed:
        say("", plain=True)
        say(f"{failed} of {len(outcomes)} questions have no answer", plain=True)


def _described(outcome: Answer | QuaestorError) -> dict[str, Any]:
    if isinstance(outcome, QuaestorError):
        error = {"code": outcome.code, "message": str(outcome), **outcome.fields()}
        return {"error": error}
    return {"answer": {**json_module.loads(outcome.to_json()), "repeated": outcome.repeated}}
