"""Every tutorial runs, as a page in the ordinary suite and as a notebook in the slow one.

An example marked ``NOISE`` prints figures that differ from run to run: its words are compared, and
that there are as many figures.
"""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.notebooks import NOISE, write

ROOT = Path(__file__).parents[2]
NAMES = sorted(page.stem for page in (ROOT / "docs/tutorials").glob("*.md") if page.stem != "index")
NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?(e[-+]?\d+)?|nan")
FILL = re.compile(r"[\s█░─━-]+")
RUN = """
import json, sys
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        shell.run_cell(cell["source"], store_history=True).raise_error()
"""


class _Checker(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if optionflags & NOISE:
            want, got = (FILL.sub(" ", NUMBER.sub("0", text)) for text in (want, got))
        return super().check_output(want, got, optionflags)


def test_the_nine_tutorials_are_there() -> None:
    assert len(NAMES) >= 9


def test_noise_hides_figures_and_nothing_else() -> None:
    check = _Checker().check_output
    assert check("| A | 1,101 (1,041 to 1,161) |", "| A | 99 (-4 to 103.5) |", NOISE)
    assert not check("| A | 1,101 (1,041 to 1,161) |", "| B | 99 (40 to 103) |", NOISE)
    assert not check("| A | 1,101 (1,041 to 1,161) |", "| A | 99 |", NOISE)
    assert not check("1,101", "99", 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_prints_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    path = ROOT / "docs/tutorials" / f"{name}.md"
    test = doctest.DocTestParser().get_doctest(
        path.read_text(encoding="utf-8"), {"__name__": "__main__"}, name, str(path), 0
    )
    assert len(test.examples) >= 5
    said: list[str] = []
    results = doctest.DocTestRunner(checker=_Checker()).run(test, out=said.append)
    assert results.failed == 0, "".join(said)


@pytest.mark.slow
def test_every_notebook_runs(tmp_path: Path) -> None:
    written = write(tmp_path)
    assert [each.stem for each in written] == NAMES
    for each in written:
        folder = tmp_path / each.stem
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(each)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{each.stem}: {done.stdout} {done.stderr}"


def test_a_notebook_holds_the_text_and_the_code_of_its_page(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "docs/notebooks.py"), str(tmp_path)]
    subprocess.run(command, check=True)  # as `make notebooks` does
    found = sorted(tmp_path.glob("*.ipynb"))
    assert [each.stem for each in found] == NAMES
    for written in found:
        cells = json.loads(written.read_text(encoding="utf-8"))["cells"]
        page = (ROOT / "docs/tutorials" / f"{written.stem}.md").read_text(encoding="utf-8")
        code = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
        assert ">>>" not in code
        assert "doctest:" not in code
        assert code.count("import ") == page.count("import ")
        assert cells[0]["source"].startswith("# ")
