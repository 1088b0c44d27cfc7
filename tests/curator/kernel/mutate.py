"""``python -m tests.curator.kernel.mutate``: plant every fault of ``mutations.toml``, and look.

Outside the kernel a fault must not break privacy ("held"); inside, its tests must see it
("noticed"). Each fault is planted alone in a copy of the sources, and checked in a process of its
own by ``tests.curator.kernel.check``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FAULTS", "Fault", "Verdict", "copied", "main", "planted"]

_ROOT = Path(__file__).parents[3]
_WORDS = {0: "held", 1: "noticed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One replacement of text in a file of the sources."""

    id: str
    where: str
    file: str
    old: str
    new: str
    breaks: str
    engine: str = "duckdb"
    """Where it shows."""

    @property
    def expected(self) -> str:
        """What should become of it."""
        return "held" if self.where == "outside" else "noticed"

    def text(self, folder: Path) -> str:
        """The file with the fault in it."""
        text = (folder / self.file).read_text(encoding="utf-8")
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"{self.id}: its old text is {count} times in {self.file}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a fault, and the last that was said."""

    fault: Fault
    became: str
    said: str

    @property
    def right(self) -> bool:
        """Whether that is as it should be."""
        return self.became == self.fault.expected


def _read() -> tuple[Fault, ...]:
    listed = tomllib.loads((Path(__file__).parent / "mutations.toml").read_text(encoding="utf-8"))
    return tuple(Fault(**each) for each in listed["fault"])


FAULTS = _read()


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the sources, and its folder."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(_ROOT / "src", Path(folder) / "src")
        yield Path(folder) / "src"


def planted(fault: Fault, sources: Path, *, engine: str | None = None, at: int = 0) -> Verdict:
    """Plant a fault, check, and take it out again."""
    engine = engine or fault.engine
    path = sources / "quaestor" / fault.file
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(fault.text(sources / "quaestor"), encoding="utf-8")
        # Compiled files are told from others by the second in which the source was written.
        os.utime(path, (at + 1, at + 1))
        done = subprocess.run(
            [sys.executable, "-m", "tests.curator.kernel.check", "--engine", engine],
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(sources), str(_ROOT)))},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path)
    lines = (done.stdout if done.returncode in {0, 1} else done.stderr).splitlines()
    became = _WORDS.get(done.returncode, "broken")
    wrong = [line for line in lines if line.startswith("wrong: ")]
    if done.returncode == 1 and not wrong:
        became, lines = "broken", done.stderr.splitlines()
    return Verdict(fault=fault, became=became, said=(wrong or lines[-1:] or [""])[0])


def main() -> int:
    """All faults, or some; status 1 if one of them became something else than it should."""
    parser = argparse.ArgumentParser(description="Plant faults outside the kernel and inside.")
    parser.add_argument("--where", choices=("outside", "inside"))
    parser.add_argument("--only", metavar="ID")
    parser.add_argument("--engine", choices=("duckdb", "postgres"), help="instead of its own")
    given = parser.parse_args()
    chosen = [
        fault
        for fault in FAULTS
        if given.where in {None, fault.where} and given.only in {None, fault.id}
    ]
    wrong = []
    with copied() as sources:
        for at, fault in enumerate(chosen, 1):
            verdict = planted(fault, sources, engine=given.engine, at=at)
            mark = "" if verdict.right else f"  EXPECTED {fault.expected}"
            sys.stdout.write(
                f"{at}/{len(chosen)}  {fault.where}  {fault.id}: {verdict.became}{mark}\n"
                f"    {verdict.said[:200]}\n"
            )
            sys.stdout.flush()
            wrong += [fault.id] * (not verdict.right)
    sys.stdout.write(f"{len(chosen) - len(wrong)} as expected, {len(wrong)} not: {wrong}\n")
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
