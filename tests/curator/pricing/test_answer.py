"""Answers in all their forms: the same figures everywhere, word for word in JSON."""

from __future__ import annotations

import csv
import datetime as dt
import io
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

import quaestor
from quaestor.curator.answers.answer import Answer, AnswerColumn
from quaestor.curator.answers.frames import flat
from quaestor.errors import InvalidParameter

ANSWER = Answer(
    dataset="visits",
    sql="SELECT ...",
    confidence=0.95,
    releases=(quaestor.Geometric(scale=10.0) * 2, quaestor.PureDP(epsilon=0.1)),
    notes=("a note",),
    columns=(
        AnswerColumn(name="sex", kind="text", values=("F", 'ü, "M"', None)),
        AnswerColumn(name="day", kind="date", values=("2026-11-16", None, "1999-01-01")),
        AnswerColumn(name="old", kind="boolean", values=(True, False, None)),
        AnswerColumn(
            name="n",
            kind="integer",
            values=(1029, -3, 10**12),
            standard_errors=(14.1, 14.1, 14.1),
            lower=(1000.0, 0.0, 10.0**12 - 30),
            upper=(1058.0, 27.0, 10.0**12 + 30),
        ),
        AnswerColumn(
            name="m",
            kind="real",
            values=(0.1, 1 / 3, None),
            standard_errors=(0.25, None, None),
            lower=(-0.5, None, None),
            upper=(0.7, None, None),
            approximate=True,
        ),
        AnswerColumn(name="n_error", kind="real", values=(1.0, 2, 3.0)),
    ),
    account="study",
    receipt=17,
    epsilon=0.3,
    delta=1e-6,
    remaining=(("epsilon", 0.7),),
)
NAMES = ["sex", "day", "old", "n", "n_error_", "n_low", "n_high", "m", "m_error", "m_low", "m_high"]


def test_json_is_read_back_word_for_word() -> None:
    text = ANSWER.to_json()
    assert Answer.from_json(text) == ANSWER
    assert Answer.from_json(text).to_json() == text


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2}', '{"version": 1}', '{"version": 1, "columns": 3}']
)
def test_what_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="answer"):
        Answer.from_json(text)


def test_columns_have_names_of_their_own() -> None:
    assert [name for name, _, _ in flat(ANSWER)] == [*NAMES, "n_error"]
    twice = replace(ANSWER, columns=ANSWER.columns[:1] * 2)
    assert [name for name, _, _ in flat(twice)] == ["sex", "sex_"]


def test_csv_has_a_line_for_every_row() -> None:
    read = list(csv.DictReader(io.StringIO(ANSWER.to_csv())))
    assert [row["sex"] for row in read] == ["F", 'ü, "M"', ""]
    assert [row["n"] for row in read] == ["1029", "-3", str(10**12)]
    assert float(read[1]["m"]) == 1 / 3


def test_arrow_has_the_kinds_that_were_declared() -> None:
    table = ANSWER.to_arrow()
    types = {
        name: str(kind) for name, kind in zip(table.schema.names, table.schema.types, strict=True)
    }
    assert types["day"] == "date32[day]"
    assert types["n"] == "int64"
    assert types["old"] == "bool"
    assert types["m_low"] == "double"
    assert table.column("day").to_pylist()[0] == dt.date(2026, 11, 16)
    assert table.column("n").to_pylist() == [1029, -3, 10**12]


def test_pandas_and_polars_have_the_same_figures() -> None:
    frame: Any = ANSWER.to_pandas()
    other: Any = ANSWER.to_polars()
    assert list(frame.columns) == other.columns == [*NAMES, "n_error"]
    assert frame["n"].tolist() == other["n"].to_list() == [1029, -3, 10**12]


def test_terminals_show_intervals_cost_and_receipt() -> None:
    written = io.StringIO()
    Console(file=written, width=160).print(ANSWER)
    shown = written.getvalue()
    assert "1,029 (1,000 to 1,058)" in shown
    assert "(~0.95)" in shown
    assert "receipt 17" in shown
    assert "epsilon 0.3" in shown


def test_rows_and_columns_are_found_by_name() -> None:
    assert len(ANSWER) == 3
    assert list(ANSWER.rows())[1]["n"] == -3
    with pytest.raises(InvalidParameter, match="column"):
        ANSWER.column("nothing")
    assert not ANSWER.column("sex").figure
    assert ANSWER.column("m").figure


def test_an_answer_is_read_without_frames() -> None:
    code = (
        "import sys\n"
        "from quaestor.curator.answers.answer import Answer\n"
        f"Answer.from_json({ANSWER.to_json()!r}).to_csv()\n"
        "print([n for n in ('pyarrow', 'pandas', 'polars', 'rich', 'duckdb') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "[]\n"
