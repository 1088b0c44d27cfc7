"""Every error by its code: what it means, what to do, and what programs can read of it."""

from __future__ import annotations

import inspect
import re

from docs.generate.markdown import NOTICE, escaped, one_line
from quaestor import errors
from quaestor.cli.options import exit_status
from quaestor.errors import QuaestorError
from quaestor.service.problems import status_of

__all__ = ["errors_page", "what_to_do"]

_INTRODUCTION = """\
Every error is a `quaestor.QuaestorError` with a `code` that never changes, fields that programs can
read (`error.fields()`), and a message that says what to do. With `--json` the command line prints
`{"error": {"code", "message", ...}}` on standard error; the service answers with an RFC 9457
problem that has the same `code` and fields. No error depends on one person's data."""
_TODO = re.compile(r"^What to do: (.*?)(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)


def what_to_do(kind: type[QuaestorError]) -> str:
    """The advice in an error's docstring."""
    found = _TODO.search(inspect.cleandoc(kind.__doc__ or ""))
    if found is None:
        raise ValueError(f"{kind.__name__} does not say what to do")
    return one_line(found[1])


def errors_page() -> str:
    """The page of all errors."""
    kinds = sorted((getattr(errors, name) for name in errors.__all__), key=lambda kind: kind.code)
    lines = [
        "# Errors by code",
        "",
        _INTRODUCTION,
        "",
        f"*{NOTICE}*",
        "",
    ]
    for kind in kinds:
        lines += [f"## `{kind.code}`", "", *_described(kind), ""]
    return "\n".join(lines).rstrip() + "\n"


def _described(kind: type[QuaestorError]) -> list[str]:
    words = _TODO.sub("", inspect.cleandoc(kind.__doc__ or "")).split("\n\n")
    said = [one_line(each) for each in words if each.strip() and not each.startswith(">>>")]
    parent = kind.__bases__[0]
    facts = [f"`quaestor.{kind.__name__}`"]
    if issubclass(parent, QuaestorError) and parent is not QuaestorError:
        facts.append(f"a kind of [`{parent.code}`](#{parent.code})")
    facts.append(f"exit status {exit_status(kind)}")
    facts.append(f"HTTP status {status_of(kind)}")
    advice = what_to_do(kind)
    return [
        *(escaped(paragraph) + "\n" for paragraph in said),
        f"**What to do:** {escaped(advice)}\n",
        "; ".join(facts) + ".",
    ]
