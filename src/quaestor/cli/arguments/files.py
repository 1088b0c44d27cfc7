"""Files that commands read and write: what is wrong with one is said in terms of its option."""

from __future__ import annotations

import csv
import math
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter, InvalidPlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.accounting.membership.plan_file import Plan

__all__ = ["check_picture", "query_text", "read_numbers", "read_plan", "writing_to"]

_PICTURES = (".svg", ".png", ".pdf")


def check_picture(option: str, file: Path | None) -> None:
    """See that a picture can be drawn into a file, before anything is computed."""
    if file is not None and file.suffix.lower() not in _PICTURES:
        raise InvalidParameter(option, str(file), f"a file that ends in {', '.join(_PICTURES)}")


@contextmanager
def writing_to(out: Path, *, otherwise: str = "") -> Iterator[None]:
    """While a file is written: that it cannot be becomes an error about ``--out``."""
    try:
        yield
    except OSError as problem:
        valid = f"a file that can be written ({problem.strerror}){otherwise}"
        raise InvalidParameter("--out", str(out), valid) from None


def read_plan(path: Path) -> Plan:
    """A plan file; every error says where and what to do."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise InvalidPlan(str(path), f"cannot be read ({reason}); give a TOML file") from None
    from quaestor.accounting.membership.plan_file import plan_from_toml

    return plan_from_toml(text)


def query_text(file: str) -> str:
    """The text of a dashboard's query: a file, byte for byte."""
    what = (
        "a file with the text of the query: a dashboard account is bound to the "
        "texts of its queries"
    )
    try:
        text = Path(file).read_bytes().decode("utf-8")
    except OSError as problem:
        raise InvalidParameter("--query", file, f"{what} ({problem.strerror})") from None
    except UnicodeDecodeError:
        raise InvalidParameter("--query", file, f"{what}, as text in UTF-8") from None
    if not text.strip():
        raise InvalidParameter("--query", file, f"{what}, not an empty one")
    return text


def read_numbers(file: Path, column: str | None) -> list[float]:
    """The numbers of a column; empty entries are left out. Errors say nothing of any entry."""
    if column is None:
        raise InvalidParameter("column", column, "given with --csv: the name of a column")
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines)
            headings = list(rows.fieldnames or [])
            if headings.count(column) != 1:
                raise InvalidParameter("column", column, f"one of {', '.join(headings)}")
            entries = [row[column] for row in rows]
    except OSError as problem:
        raise InvalidParameter(
            "csv", str(file), f"a CSV file that can be read ({problem.strerror})"
        ) from None
    except (UnicodeDecodeError, csv.Error):
        raise InvalidParameter("csv", str(file), "a CSV file in UTF-8") from None
    try:
        numbers = [float(entry) for entry in entries if entry is not None and entry.strip()]
    except ValueError:
        raise InvalidParameter("column", column, "a column of numbers") from None
    if not all(map(math.isfinite, numbers)):
        raise InvalidParameter("column", column, "a column of finite numbers")
    return numbers
