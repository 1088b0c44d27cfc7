"""Reading ``quaestor.toml``: every error says in which line, and what to write instead."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.accounts import read_accounts, read_membership
from quaestor.curator.catalog.identity_provider import read_provider
from quaestor.curator.catalog.model import Catalog
from quaestor.curator.catalog.sections import Page, Section, lines_of
from quaestor.curator.catalog.sources import check_environment
from quaestor.curator.catalog.tables import read_tables
from quaestor.errors import InvalidCatalog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.curator.catalog.sections import Place

__all__ = ["CATALOG", "catalog_from_toml", "find_catalog", "read_catalog", "read_text"]

CATALOG = "quaestor.toml"
_DEFAULT_LEDGER = "ledger.db"
_LARGEST = 32 * 1024 * 1024
_LEDGER = 'write  ledger = "ledger.db"  or  ledger = { environment = "LEDGER_DATABASE" }'
_WORDS = frozenset({"password", "passwd", "pwd", "secret", "token", "api_key", "credentials"})
_ADDRESS = re.compile(
    r"://[^/\s]*@"  # postgresql://user:password@host
    r"|^postgres(?:ql)?(?:\+\w+)?://"  # any address of a server may carry some one day
    r"|\b(?:password|passwd|pwd|token|secret)\s*=",  # as in host=... password=...
    re.IGNORECASE,
)
_NO_CREDENTIALS = (
    "remove it, put the address into an environment variable, and write the name "
    'of the variable:  environment = "CLINIC_DATABASE"'
)


def find_catalog(start: Path | str = ".") -> Path:
    """The nearest ``quaestor.toml``, in this folder or above it.

    Raises:
        InvalidCatalog: there is none.
    """
    folder = Path(start).resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / CATALOG).is_file():
            return candidate / CATALOG
    raise InvalidCatalog(
        file=CATALOG,
        line=None,
        problem=f"there is no catalog in {folder} or in a folder above it",
        remedy="run  quaestor init  to create one",
    )


def read_catalog(path: Path | str) -> Catalog:
    """Read a catalog file, or the one in a folder.

    Raises:
        InvalidCatalog: it cannot be read, or does not say what it should.
    """
    path = Path(path)
    path = path / CATALOG if path.is_dir() else path
    return catalog_from_toml(read_text(path), file=str(path), folder=str(path.parent))


def read_text(path: Path) -> str:
    """The text of the file as it is, line ends included."""
    try:
        with path.open("rb") as stream:
            content = stream.read(_LARGEST + 1)
        if len(content) <= _LARGEST:
            return content.decode("utf-8")
        reason = f"it is larger than {_LARGEST} bytes"
    except OSError as problem:
        reason = problem.strerror or "unreadable"
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except ValueError:  # a zero byte in the name
        reason = "this is not a valid file name"
    raise InvalidCatalog(
        file=str(path),
        line=None,
        problem=f"cannot be read ({reason})",
        remedy="give a TOML file, or run  quaestor init  to create one",
    )


def catalog_from_toml(text: str, *, file: str = CATALOG, folder: str = ".") -> Catalog:
    """What a text says; ``file`` is what errors call it, ``folder`` where its files are.

    >>> catalog_from_toml('''
    ... [tables.visits]
    ... file = "visits.parquet"
    ... unit = "patient"
    ... rows = 20
    ... groups = 5
    ... columns = { patient = "integer", age = { kind = "integer", low = 0, high = 120 } }
    ... ''').table("visits").contribution
    Contribution(rows=20, groups=5)
    """
    try:
        return _catalog(_document(text, file), folder)
    except RecursionError:
        raise InvalidCatalog(
            file=file,
            line=None,
            problem="it is nested too deeply",
            remedy="simplify the nested lists and tables",
        ) from None


def _catalog(document: Section, folder: str) -> Catalog:
    _refuse_credentials(document)
    document.only("ledger", "tables", "membership", "accounts", "service")
    tables = read_tables(document)
    datasets = tuple(dict.fromkeys(t.dataset for t in tables if t.dataset is not None))
    membership, neighbours = read_membership(document, datasets)
    ledger, environment = _ledger(document)
    return Catalog(
        tables=tables,
        ledger=ledger,
        ledger_environment=environment,
        accounts=read_accounts(document, tables),
        membership=membership,
        neighbours=neighbours,
        folder=folder,
        provider=read_provider(document),
    )


def _document(text: str, file: str) -> Section:
    try:
        values: dict[str, Any] = tomllib.loads(text)
        page = Page(file=file, lines=lines_of(text))
    except ValueError as problem:  # of tomllib, and of numbers with thousands of digits
        raise InvalidCatalog(
            file=file,
            line=_line_said(str(problem), text),
            problem=f"this is not TOML: {_without_place(str(problem))}",
            remedy="correct the line; texts are in quotes, tables begin with [name]",
        ) from None
    return Section(page=page, place=(), title="", values=values)


def _line_said(problem: str, text: str) -> int | None:
    said = re.search(r"\(at line (\d+), column \d+\)$", problem)
    if said:
        return int(said[1])
    return text.count("\n") + 1 if problem.endswith("(at end of document)") else None


def _without_place(problem: str) -> str:
    return re.sub(r" \(at [^()]*\)$", "", problem).split(";")[0]


def _ledger(document: Section) -> tuple[str, str | None]:
    if isinstance(document.values.get("ledger"), dict):
        section = document.section("ledger", title="ledger", remedy=_LEDGER)
        section.only("environment")
        return "", check_environment(section)
    path = document.text("ledger", remedy=_LEDGER)
    if path is not None and "://" in path:
        raise document.wrong("ledger", "ledger must be a file here, not an address", _LEDGER)
    return path or _DEFAULT_LEDGER, None


# Credentials belong into the environment: a catalog that holds some is refused


def _refuse_credentials(document: Section) -> None:
    """Raise for the first value or key that looks like a credential; it is not repeated."""
    for place, value in _walk(document.values, ()):
        key = place[-1]
        named = isinstance(key, str) and key.lower() in _WORDS and not _is_name(place)
        if named or (isinstance(value, str) and not _is_query(place) and _ADDRESS.search(value)):
            holder = type(document)(
                page=document.page, place=place[:-1], title="", values=document.values
            )
            raise holder.wrong(key, "this file must not contain credentials", _NO_CREDENTIALS)


def _walk(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    for key, entry in entries:
        yield (*place, key), entry
        yield from _walk(entry, (*place, key))


def _is_name(place: Place) -> bool:
    """Whether the key is a name that the owner chose: of a table, a column, an analyst."""
    if len(place) == 2:
        return place[0] in {"tables", "accounts"}
    return len(place) == 4 and place[2] in {"columns", "quotas", "shares", "plan"}


def _is_query(place: Place) -> bool:
    """Whether the text is SQL, which may compare a column of that name; or a key of a column."""
    return place[-1] == "sql" or (len(place) == 6 and place[2] == "columns")
