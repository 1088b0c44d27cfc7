"""Labels of pictures: as they are, on several lines, and shortened by what they mean."""

from __future__ import annotations

import re

__all__ = ["in_lines", "plain"]

_LONGEST = 60
_TERM = re.compile(r"(?P<call>\w+\(.*\))(?P<count> \* [\d_]+)?", re.DOTALL)


def plain(text: str, *, longest: int = _LONGEST) -> str:
    """A text drawn as it is: without formulas and control signs, not hidden, not too long."""
    drawn = "".join(sign if sign.isprintable() else " " for sign in text)
    drawn = drawn if len(drawn) <= longest else f"{drawn[: longest - 3]}..."
    return (" " if drawn.startswith("_") else "") + drawn.replace("$", r"\$")


def in_lines(text: str, *, width: int = 46, most: int = 4) -> str:
    """Releases on lines of at most ``width`` signs, broken between releases or parameters.

    Where that takes more than ``most`` lines, whole releases are left out and counted, and long
    lists of parameters end in dots. How often a release is made is never left out.

    >>> print(in_lines("Gaussian(sigma=50.0, sensitivity=1.0) * 10000 + PureDP(epsilon=0.1) * 30"))
    Gaussian(sigma=50.0, sensitivity=1.0) * 10000
    + PureDP(epsilon=0.1) * 30
    """
    terms = text.split(" + ")
    lines: list[str] = []
    for place, term in enumerate(terms):
        sign = "+ " if place else ""
        pieces = _broken(term, width - len(sign))
        if len(pieces) > 2 or max(map(len, pieces)) > width + 8:
            pieces = [_shortened(term, width - len(sign))]
        rest = len(terms) - place
        if len(lines) + len(pieces) + (rest > 1) > most and lines:
            lines.append(f"+ {rest} more")
            break
        lines += [sign + pieces[0], *(f"   {piece}" for piece in pieces[1:])]
    return "\n".join(plain(line, longest=width + 8) for line in lines)


def _broken(term: str, width: int) -> list[str]:
    """One release on as many lines as it takes, each ending with a whole parameter."""
    lines: list[str] = []
    for part in term.split(", "):
        if lines and len(lines[-1]) + len(part) + 3 <= width:
            lines[-1] += f", {part}"
        else:
            lines[-1:] = [*(f"{line}," for line in lines[-1:]), part]
    return lines


def _shortened(term: str, width: int) -> str:
    """One release on one line: parameters at the end give way to dots."""
    parts = _TERM.fullmatch(term)
    if parts is None:
        return f"{term[: width - 3]}..."
    call, count = parts["call"], parts["count"] or ""
    name, _, inner = call.partition("(")
    room = width - len(name) - len(count) - len("( ...)")
    kept = inner[:-1][: max(room, 0)]
    kept = kept[: kept.rfind(",") + 1]  # whole parameters only
    return f"{name}({kept + ' ' if kept else ''}...){count}"
