"""Results as tables: notebooks, HTML, LaTeX and Markdown show every text as it is."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

import quaestor as q
from quaestor import mechanisms
from quaestor.audit import audit
from quaestor.curator import Answer, Preview
from quaestor.documents.text_table import TextTable, headed
from quaestor.ledger import AccountDefinition, Ledger, Quota

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.documents.presented import Presented
    from quaestor.ledger import Account

HOSTILE = "</td><script>alert(1)</script>&amp; $x^2$ \\input{a} 100% a_b #1 {~} \x07"
LATEX = re.compile(r"\\[&%$#_{}]|\\text[a-z]+\{\}|[^\\&%$#_{}~^<>]")
WORDS = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
}
TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li"}


class Tags(HTMLParser):
    """Every tag and attribute of a text, its texts, and whether all that opens closes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.texts = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: D102  # as its parent says
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:  # noqa: D102  # as its parent says
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:  # noqa: D102  # as its parent says
        self.texts += data


def read(html: str) -> Tags:
    """What a browser reads."""
    page = Tags()
    page.feed(html)
    page.close()
    assert not page.open
    assert set(page.tags) <= TAGS
    assert page.attributes <= {"style"}
    assert "color" not in html  # so that it suits light and dark
    assert "://" not in html
    return page


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """An account with a hostile dataset, quotas and two charges."""
    with Ledger(str(tmp_path_factory.mktemp("ledger") / "ledger.db")) as ledger:
        account = ledger.open_account(
            AccountDefinition(
                name="trial",
                epsilon=1.0,
                delta=1e-6,
                datasets=("R&D <b>",),
                shares=(Quota(analyst="ann_1", epsilon=0.5, delta=1e-7),),
            )
        )
        for _ in range(2):
            with account.reserve(q.PureDP(epsilon=0.1), analyst="ann_1") as charge:
                charge.drawing()
                charge.release("42")
        yield account


def preview() -> Preview:
    """Of a hostile question."""
    return Preview.from_dict(
        {
            "question": HOSTILE,
            "dataset": "visits",
            "account": "study",
            "releases": ["PureDP(epsilon=0.5)"],
            "epsilon": 0.5,
            "delta": 0.0,
            "expected": [
                {
                    "name": "n<b>",
                    "standard_error": 3.5,
                    "half_width": 7.0,
                    "divided_by": None,
                    "words": "at most 7",
                }
            ],
            "confidence": 0.95,
            "rows": 1,
            "meters": [
                {"meter": "moment 3", "requested": 0.5, "remaining": 2.0, "left": 1.5, "limit": 4.0}
            ],
            "fits": True,
            "free": False,
            "would_fit": None,
            "notes": [HOSTILE],
            "quota_of": None,
            "whole_error": 0.0,
        }
    )


def results(account: Account) -> dict[str, Presented]:
    """One of every kind of result."""
    spent = q.compose(q.Laplace(scale=20.0) * 100, q.PureDP(epsilon=0.1))
    across = q.compose_across(
        {"north": [q.PureDP(epsilon=0.1)], "south": [q.PureDP(epsilon=0.2)]}, membership=q.AtMost(1)
    )
    return {
        "composition": spent,
        "across": across,
        "region": spent.tradeoff(),
        "explanation": spent.explain(delta=1e-6),
        "report": audit(mechanisms.Geometric(scale=1.0), neighbours=(0, 1), runs=2000),
        "account": account,
        "standing": account.standing(),
        "history": account.history(),
        "preview": preview(),
        "answer": Answer(dataset="visits", columns=(), confidence=0.95, releases=()),
    }


def test_a_text_stays_the_text_that_it_is() -> None:
    table = TextTable(
        title=HOSTILE, headings=headed(HOSTILE, "#n"), rows=[[HOSTILE, "1"]], notes=[HOSTILE]
    )
    page = read(table.to_html())
    assert page.texts.count(HOSTILE) == 4


def test_every_result_is_a_table_in_a_notebook(account: Account) -> None:
    for name, result in results(account).items():
        shown = result._repr_html_()
        assert shown is not None, name
        assert "<table>" in shown, name
        read(shown)
        assert result.to_html() == shown
        for text in (result.to_latex(), result.to_markdown()):
            assert text.endswith("\n"), name


def test_the_numbers_of_a_table_are_those_of_the_result() -> None:
    spent = q.compose(q.PureDP(epsilon=0.25) * 8)
    rows = {row[0]: row[1] for row in spent.to_table().rows}
    assert rows["0.0"] == "2"
    least = spent.epsilon_bounds(delta=1e-3).lower
    assert least <= float(rows["0.001"]) <= least * (1 + 1e-6)
    explanation = spent.explain(delta=1e-3)
    table = explanation.to_table()
    (best,) = table.marked
    assert table.rows[best][1] == explanation.best.theorem == spent.theorem
    assert f"\\textbf{{{spent.theorem}}}" in explanation.to_latex()


def test_where_no_epsilon_is_true_the_table_says_so() -> None:
    spent = q.compose(q.ApproxDP(epsilon=0.1, delta=0.25))
    assert ["1e-06", "no finite value"] in spent.to_table().rows


def test_an_account_whose_ledger_is_gone_is_shown_as_text(tmp_path: Path) -> None:
    with Ledger(str(tmp_path / "ledger.db")) as ledger:
        account = ledger.open_account(
            AccountDefinition(name="trial", epsilon=1.0, delta=1e-6, datasets=("people",))
        )
        assert "<table>" in (account._repr_html_() or "")
    (tmp_path / "ledger.db").unlink()
    assert account._repr_html_() is None


def test_a_preview_says_what_it_takes_and_leaves() -> None:
    html = preview().to_html()
    assert "moment 3: takes 0.5 of 4, leaves 1.5" in html
    assert "It fits. Nothing was charged." in html


def printed(latex: str) -> str:
    """What LaTeX prints of a cell; fails at a sign that it would take for its own."""
    read = ""
    while latex:
        sign = LATEX.match(latex)
        assert sign is not None, latex
        read += WORDS.get(sign[0], sign[0].removeprefix("\\"))
        latex = latex[sign.end() :]
    return read


def test_latex_prints_the_text_that_it_is() -> None:
    lines = TextTable(headings=headed("a", "#n"), rows=[[HOSTILE, "5 %"]]).to_latex().splitlines()
    first, second = lines[4].removesuffix(" \\\\").split(" & ")
    assert printed(first) == " ".join(HOSTILE.replace("\x07", " ").split())
    assert printed(second) == "5 %"
    assert lines[0] == "\\begin{tabular}{lr}"


def test_a_note_stays_in_its_comment() -> None:
    notes = ["one\n\\input{secret}", "two\r\n%"]
    lines = TextTable(headings=headed("a"), rows=[], notes=notes, title="x\ny").to_latex()
    assert [line for line in lines.splitlines() if "input" in line] == ["% one \\input{secret}"]
    assert lines.startswith("% x y\n")
