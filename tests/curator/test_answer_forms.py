"""Answers in files and documents: each is read back by a program that is not ours."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import openpyxl
import pytest
from matplotlib.figure import Figure
from pyarrow import feather, parquet

from quaestor.cli.commands.query import AnswerForm
from quaestor.curator import Answer
from quaestor.curator.answers.answer import AnswerColumn
from quaestor.curator.answers.forms import FORMS
from quaestor.curator.answers.pictures import draw
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "=cmd()|'x'!<b>&_%$ \\ \x01\n# ~"
ANSWER = Answer(
    dataset="<visits>",
    confidence=0.95,
    releases=(),
    notes=("a note with <b> & 50 %",),
    sql="SELECT '<script>'",
    columns=(
        AnswerColumn(name="ward", kind="text", values=("A", HOSTILE, None)),
        AnswerColumn(
            name="n",
            kind="integer",
            values=(1029, -3, 2**60),
            standard_errors=(14.1, 14.1, 14.1),
            lower=(1000.0, 0.0, 10.0),
            upper=(1058.0, 27.0, 30.0),
        ),
        AnswerColumn(
            name="mean",
            kind="real",
            values=(0.1, None, 1 / 3),
            standard_errors=(0.25, None, None),
            lower=(-0.5, None, None),
            upper=(0.7, None, None),
        ),
        AnswerColumn(name="old", kind="boolean", values=(True, False, None)),
    ),
    account="study",
    receipt=17,
    epsilon=0.3,
    delta=1e-6,
)
NAMES = ["ward", "n", "n_error", "n_low", "n_high", "mean", "mean_error", "mean_low", "mean_high"]
NAMES += ["old"]


class Cells(HTMLParser):
    """The cells of a page, and every tag that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.open = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: D102  # as its parent says
        del attrs
        self.tags.add(tag)
        self.open = tag in {"td", "th"}
        if self.open:
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:  # noqa: D102  # as its parent says
        self.open = self.open and tag not in {"td", "th"}

    def handle_data(self, data: str) -> None:  # noqa: D102  # as its parent says
        if self.open:
            self.cells[-1] += data


def test_the_ending_of_a_file_decides_what_is_in_it(tmp_path: Path) -> None:
    for form in FORMS.values():
        for ending in form.endings:
            ANSWER.save(tmp_path / f"answer{ending}")
    with (tmp_path / "answer.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
    assert rows[0] == NAMES
    assert rows[2][0] == HOSTILE
    assert json.loads((tmp_path / "answer.json").read_text(encoding="utf-8"))["receipt"] == 17
    for table in (
        parquet.read_table(tmp_path / "answer.parquet"),
        feather.read_table(str(tmp_path / "answer.arrow")),
    ):
        assert table.column_names == NAMES
        assert table["n"].to_pylist() == [1029, -3, 2**60]
    assert (tmp_path / "answer.txt").read_text(encoding="utf-8").startswith("┏")


def test_a_workbook_holds_the_same_table_and_no_formula(tmp_path: Path) -> None:
    ANSWER.save(tmp_path / "answer.xlsx")
    book = openpyxl.load_workbook(tmp_path / "answer.xlsx")
    assert book.sheetnames == ["answer", "notes"]
    rows = list(book["answer"].iter_rows(values_only=True))
    assert list(rows[0]) == NAMES
    assert rows[1] == ("A", 1029, 14.1, 1000, 1058, 0.1, 0.25, -0.5, 0.7, True)
    assert rows[2][0] == HOSTILE.replace("\x01", "\ufffd")
    assert book["answer"].cell(3, 1).data_type == "s"  # a text, not a formula
    assert rows[3][:2] == (None, str(2**60))  # more digits than a cell has
    notes = [row[0] for row in book["notes"].iter_rows(values_only=True)]
    assert notes[0] == "a note with <b> & 50 %"
    assert "receipt 17 of account study" in notes


def test_html_shows_texts_as_texts(tmp_path: Path) -> None:
    ANSWER.save(tmp_path / "answer.html")
    for text in ((tmp_path / "answer.html").read_text(encoding="utf-8"), ANSWER._repr_html_()):
        page = Cells()
        page.feed(text)
        assert not page.tags & {"b", "script"}
        assert HOSTILE in page.cells
        assert "1,029 (1,000 to 1,058)" in page.cells
        assert "n (0.95)" in page.cells


def test_markdown_keeps_its_columns() -> None:
    lines = ANSWER.to_markdown().splitlines()
    assert lines[1] == "| --- | ---: | ---: | --- |"
    bare = [line.replace("\\\\", "").replace("\\|", "") for line in lines[:5]]
    assert {line.count("|") for line in bare} == {5}
    assert "\\<b\\>" in lines[3]
    assert "- receipt 17 of account study" in lines


def test_latex_has_no_sign_of_its_own_left() -> None:
    lines = ANSWER.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lrrl}"
    row = lines[5]
    assert row.count(" & ") == 3
    assert r"\&\_\%\$ \textbackslash{}" in row
    assert row.endswith(r"\\")


def test_an_unknown_ending_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"\.csv.*\.parquet.*\.xlsx"):
        ANSWER.save(tmp_path / "answer.doc")
    with pytest.raises(InvalidParameter, match=r"ends in \.json"):
        ANSWER.save(tmp_path / "answer.csv", form="json")
    ANSWER.save(tmp_path / "answer.doc", form="html")
    assert not (tmp_path / "answer.csv").exists()


def test_the_command_line_knows_every_form() -> None:
    assert set(AnswerForm) == set(FORMS)


def _answer(keys: list[AnswerColumn], values: tuple[int, ...]) -> Answer:
    figure = AnswerColumn(
        name="n",
        kind="integer",
        values=values,
        standard_errors=tuple(1.0 for _ in values),
        lower=tuple(value - 2.0 for value in values),
        upper=tuple(value + 3.0 for value in values),
    )
    return replace(ANSWER, columns=(*keys, figure))


def test_bars_stand_at_their_values_with_their_intervals() -> None:
    ward = AnswerColumn(name="ward", kind="text", values=("B", "A", None))
    axes = _answer([ward], (10, 20, 5)).plot()
    assert [patch.get_width() for patch in axes.patches] == [10, 20, 5]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["B", "A", "no value"]
    (whiskers,) = next(each.errorbar for each in axes.containers if hasattr(each, "errorbar"))[2]
    assert [sorted(ends[:, 0]) for ends in whiskers.get_segments()] == [[8, 13], [18, 23], [3, 8]]


def test_dates_make_a_line_in_their_order() -> None:
    days = AnswerColumn(name="day", kind="date", values=("2026-03-01", "2026-01-01", "2026-02-01"))
    axes = Figure().add_subplot()
    assert _answer([days], (3, 1, 2)).plot(axes=axes) is axes
    assert list(axes.lines[0].get_ydata()) == [1, 2, 3]
    assert axes.get_xlabel() == "day"


def test_a_second_key_makes_series_and_too_many_make_categories() -> None:
    year = AnswerColumn(name="year", kind="integer", values=(2024, 2025) * 2)
    sex = AnswerColumn(name="sex", kind="text", values=("F", "F", "M", "M"))
    axes = _answer([sex, year], (1, 2, 3, 4)).plot(axes=Figure().add_subplot())
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["F", "M"]
    many = AnswerColumn(name="town", kind="text", values=tuple(f"t{i}" for i in range(60)))
    first = replace(year, values=(2024, 2025) * 30)
    axes = _answer([first, many], tuple(range(60))).plot(axes=Figure().add_subplot())
    assert axes.get_yticklabels()[0].get_text() == "2,024, t0"
    assert "the first 40 of 60" in axes.get_xlabel()


def test_every_figure_is_a_panel(tmp_path: Path) -> None:
    formula = replace(ANSWER.columns[0], values=("$x^{", "_hidden", HOSTILE))
    draw(replace(ANSWER, columns=(formula, *ANSWER.columns[1:])), out=tmp_path / "answer.svg")
    text = (tmp_path / "answer.svg").read_text(encoding="utf-8")
    assert text.count('id="axes_') == 2
    with pytest.raises(InvalidParameter, match="one of n, mean"):
        ANSWER.plot(of="ward")
