"""The curator's story, told on a real study: asked, paid, refused, checked against the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.cli.demo.liver import ACCOUNT, QUESTIONS, TOO_MUCH, write_tables
from quaestor.cli.drawing.answers import BAR_CELLS, print_standing_on
from quaestor.cli.drawing.numbers import bar, print_table, say
from quaestor.errors import BudgetExceeded, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.cli.demo.liver import DemoQuestion
    from quaestor.curator.answers.answer import Answer, AnswerColumn
    from quaestor.curator.session import Curator
    from quaestor.ledger.totals.standing import HolderStanding

__all__ = ["fresh_folder", "story"]

_ROWS_SHOWN = 4


def fresh_folder(out: Path) -> Path:
    """A new folder under this one: a ledger is never written over."""
    for number in range(1, 10_000):
        folder = out / ("liver" if number == 1 else f"liver-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if not folder.is_dir():
                break
        except OSError:
            break
        else:
            return folder
    raise InvalidParameter("out", str(out), "a folder that can be created")


def story(folder: Path, *, aloud: bool) -> dict[str, Any]:
    """Run it all; what happened, for programs."""
    from quaestor.curator.catalog.catalog_file import read_catalog
    from quaestor.curator.session import Curator

    rows = write_tables(folder)
    with Curator(read_catalog(folder / "quaestor.toml")) as curator:
        curator.open_account(ACCOUNT)
        if aloud:
            say("[bold]A liver study, asked in SQL[/bold]")
            say(f"{rows:,} laboratory results of 15,666 patients; the privacy unit is a patient;")
            say(f"declared in {folder / 'quaestor.toml'}", plain=True)
            say("At most 60 results of one patient count in a group, so some figures are too low:")
            say("noise intervals leave that out, whole errors cover it (each with 95 %).")
            say("The truth (demo only) is beside them.")
            say(curator.account(ACCOUNT).words().split(". ")[0] + ".\n", plain=True)
        told = [_ask(curator, asked, folder, aloud=aloud) for asked in QUESTIONS]
        refused = _refused(curator, aloud=aloud)
        checked = curator.ledger.verify()
        if aloud:
            _burn_down(told)
            print_standing_on(_standing(curator), more=None, verbose=False)
            entries = sum(1 for _ in curator.account(ACCOUNT).entries())
            head = f"head {checked[0].head[:16]}..."
            say(f"The ledger verified: {entries} entries, no tampering found, {head}")
            say(f"Next:  quaestor query --catalog {folder / 'quaestor.toml'} ...", plain=True)
    return {"folder": str(folder), "rows": rows, "answers": told, "refused": refused}


def _standing(curator: Curator) -> HolderStanding:
    return curator.account(ACCOUNT).standing_on("liver")


def _budget(asked: DemoQuestion) -> dict[str, Any]:
    from quaestor.curator.pricing.accuracy import Accuracy

    if "within" in asked.budget:
        return {"accuracy": Accuracy(within=asked.budget["within"])}
    return dict(asked.budget)


def _ask(curator: Curator, asked: DemoQuestion, folder: Path, *, aloud: bool) -> dict[str, Any]:
    from quaestor.ledger.amounts import below

    seen = curator.preview(asked.sql, **_budget(asked))
    answer = curator.ask(asked.sql, purpose=asked.title, **_budget(asked))
    compared = list(_compared(answer, _truth(asked, folder)))
    left = below(_standing(curator).left)
    if aloud:
        price = ", ".join(f"{name} {value:g}" for name, value in asked.budget.items())
        say(f"[bold]{asked.title}[/bold] ({price})")
        say(f"  {asked.sql}", plain=True)
        for one in seen.expected:
            say(f"  expected: {one.name} {one.words}", plain=True)
        if answer.repeated:
            say("  The same answer again, from the ledger, at no cost.")
        foreseen = tuple(f"{one.name}: " for one in seen.expected)
        for note in answer.notes:
            if not note.startswith(foreseen):
                say(f"  {note}", plain=True)
        _print_compared(answer, compared)
    return {
        "title": asked.title,
        "sql": asked.sql,
        "receipt": answer.receipt,
        "epsilon": answer.epsilon,
        "repeated": answer.repeated,
        "left": left,
        "figures": compared,
    }


def _truth(asked: DemoQuestion, folder: Path) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """The demo only: the exact figures by group, nobody protected."""
    import duckdb

    with duckdb.connect() as connection:
        for table in ("labs.parquet", "patients.parquet", "tests.csv"):
            name = table.split(".", maxsplit=1)[0]
            connection.execute(f"CREATE VIEW {name} AS FROM '{folder / table}'")
        return {_group(row): row for row in connection.execute(asked.of_all_groups).fetchall()}


def _group(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The key of a row of these questions: its first column, where there are several."""
    return () if len(row) == 1 else (_value(row[0]),)


def _value(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _compared(
    answer: Answer, truth: dict[tuple[Any, ...], tuple[Any, ...]]
) -> Iterator[dict[str, Any]]:
    keys = [column for column in answer.columns if not column.figure]
    for place in range(len(answer)):
        group = tuple(_value(column.values[place]) for column in keys)
        row = truth.get(group)
        for number, column in enumerate(answer.columns):
            if column.figure:
                exact = 0 if row is None else row[number]
                yield _figure(column, place, group, exact)


def _figure(column: AnswerColumn, place: int, group: tuple[Any, ...], exact: Any) -> dict[str, Any]:
    noise = [None if end is None else end[place] for end in (column.lower, column.upper)]
    whole = [
        None if end is None else end[place] for end in (column.whole_lower, column.whole_upper)
    ]
    value: Any = column.values[place]
    true = float(exact or 0)
    return {
        "group": list(group),
        "figure": column.name,
        "answer": value,
        "lower": noise[0],
        "upper": noise[1],
        "whole_lower": whole[0],
        "whole_upper": whole[1],
        "truth": true,
        "off": None if value is None else float(value) - true,
    }


def _print_compared(answer: Answer, compared: list[dict[str, Any]]) -> None:
    shown = compared[: _ROWS_SHOWN * max(1, sum(column.figure for column in answer.columns))]
    rows = [
        [
            ", ".join([one["figure"], *("none" if g is None else str(g) for g in one["group"])]),
            _number(one["answer"]),
            _ends(one["lower"], one["upper"]),
            _ends(one["whole_lower"], one["whole_upper"]),
            _number(one["truth"]),
        ]
        for one in shown
    ]
    heads = ["figure", "#answer", "#noise interval", "#whole error", "#truth"]
    print_table("", heads, rows)
    if len(compared) > len(shown):
        say(f"  and {len(compared) - len(shown)} more")
    say("")


def _ends(lower: float | None, upper: float | None) -> str:
    return "-" if lower is None else f"{_number(lower)} to {_number(upper)}"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    whole = float(value).is_integer() or abs(value) >= 1000
    return f"{value:,.0f}" if whole else f"{value:,.2f}"


def _refused(curator: Curator, *, aloud: bool) -> dict[str, Any]:
    try:
        curator.ask(TOO_MUCH.sql, **_budget(TOO_MUCH))
    except BudgetExceeded as refusal:
        if aloud:
            price = TOO_MUCH.budget["epsilon"]
            say(f"[bold]{TOO_MUCH.title}[/bold] (epsilon {price:g})")
            say(f"  {TOO_MUCH.sql}", plain=True)
            say(f"  refused: {refusal}\n", plain=True)
        return {"message": str(refusal), **refusal.fields()}
    return {}


def _burn_down(told: list[dict[str, Any]]) -> None:
    say("[bold]Budget left after each question[/bold]")
    for one in told:
        paid = "free" if one["repeated"] else f"receipt {one['receipt']}"
        drawn = bar(one["left"], cells=BAR_CELLS)
        say(f"  {drawn} {100 * one['left']:5.1f} %  {paid:<11} {one['title']}")
