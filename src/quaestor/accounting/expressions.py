"""A small language for releases, parsed and never evaluated.

::

    releases =  release { "+" release }
    release  =  call [ "*" count ]  |  count "*" call
    call     =  name "(" [ field "=" value { "," field "=" value } ] ")"
    value    =  number  |  "True"  |  "False"  |  releases  |  list  |  word  |  "?"
    list     =  "[" number { "," number } "]"  |  "[" list { "," list } "]"

``+`` joins releases that are made together. ``?`` marks the one parameter that ``calibrate`` is to
find. Whatever ``str(release)`` writes, ``parse_release`` reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import NamedTuple, NoReturn

from quaestor.accounting.releases import RELEASES, Release, ReleaseSum
from quaestor.accounting.releases.codec import build_release
from quaestor.errors import InvalidExpression, InvalidParameter

__all__ = ["Template", "parse_release", "parse_releases", "parse_sum", "parse_templates"]

_LONGEST = 4096
_DEEPEST = 16
_MOST_NAMED = 12
_TRUTHS = {"True": True, "False": False}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+)?|-?(?:inf|nan)\b)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<mark>[()=,*?+\[\]]))"
)


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


_List = tuple["float | int | _List", ...]


class _Unknown:
    """The place of a ``?``."""


class _Argument(NamedTuple):
    field: str
    column: int
    value: float | int | str | _List | tuple[_Term, ...] | _Unknown


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    column: int
    arguments: tuple[_Argument, ...]


class _Term(NamedTuple):
    """One release of a sum, and how often."""

    call: _Call
    times: int
    column: int


@dataclass(frozen=True, slots=True)
class Template:
    """A release expression, possibly with one unknown parameter.

    >>> (template,) = parse_templates("ApproxDP(epsilon=?, delta=1e-8) * 30")
    >>> template.unknown
    'epsilon'
    >>> print(template.build(0.5))
    ApproxDP(epsilon=0.5, delta=1e-08) * 30
    """

    text: str
    call: _Call
    count: int
    count_column: int

    @property
    def unknown(self) -> str | None:
        """The name of the unknown parameter, if there is one."""
        found = _unknown_in(self.call)
        return None if found is None else found.field

    def build(self, value: float | None = None) -> Release:
        """The release, with ``value`` in place of the unknown."""
        found = _unknown_in(self.call)
        if found is not None and value is None:
            _fail(self.text, found.column, "'?' is only for calibrate; write a number here")
        return self._build_term(_Term(self.call, self.count, self.count_column), value)

    def _build_term(self, term: _Term, value: float | None) -> Release:
        release = self._build_call(term.call, value)
        try:
            return release if term.times == 1 else release * term.times
        except InvalidParameter as problem:
            raise InvalidExpression(self.text, term.column, str(problem)) from None

    def _build_argument(self, argument: _Argument, value: float | None) -> object:
        given = argument.value
        if isinstance(given, _Unknown):
            return value
        terms = _terms_of(argument)
        if not terms:
            return given
        built = tuple(self._build_term(term, value) for term in terms)
        return built[0] if len(built) == 1 else ReleaseSum(built)

    def _build_call(self, call: _Call, value: float | None) -> Release:
        parameters = {
            argument.field: self._build_argument(argument, value) for argument in call.arguments
        }
        try:
            return build_release(call.name, parameters)
        except InvalidExpression:
            raise
        except InvalidParameter as problem:
            if value is not None and problem.field == self.unknown:
                raise  # the searched value is out of range, not the expression
            columns = {argument.field: argument.column for argument in call.arguments}
            column = columns.get(problem.field, columns.get(str(problem.value), call.column))
            raise InvalidExpression(self.text, column, str(problem)) from None


def parse_release(text: str) -> Release:
    """Read one release expression.

    >>> parse_release("PureDP(epsilon=0.5) * 10")
    Repeated(release=PureDP(epsilon=0.5), count=10)
    """
    releases = parse_releases(text)
    if len(releases) > 1:
        _fail(text, 1, "expected one release, not a sum")
    return releases[0]


def parse_releases(text: str) -> tuple[Release, ...]:
    """Read a sum of release expressions.

    >>> [str(release) for release in parse_releases("PureDP(epsilon=1) + 2 * PureDP(epsilon=0.5)")]
    ['PureDP(epsilon=1.0)', 'PureDP(epsilon=0.5) * 2']
    """
    return tuple(template.build() for template in parse_templates(text))


def parse_sum(text: str) -> ReleaseSum:
    """Read what ``str`` writes of a sum, and what the command line takes as one argument.

    >>> print(parse_sum("PureDP(epsilon=1) + 2 * PureDP(epsilon=0.5)") * 3)
    PureDP(epsilon=1.0) * 3 + PureDP(epsilon=0.5) * 6
    """
    return ReleaseSum(parse_releases(text))


def parse_templates(text: str) -> tuple[Template, ...]:
    """Read a sum of release expressions, of which one may hold a ``?``."""
    return _Parser(text).templates()


def _unknown_in(call: _Call) -> _Argument | None:
    for argument in call.arguments:
        if isinstance(argument.value, _Unknown):
            return argument
        for term in _terms_of(argument):
            found = _unknown_in(term.call)
            if found is not None:
                return found
    return None


def _terms_of(argument: _Argument) -> tuple[_Term, ...]:
    """The releases that are given as a parameter; none where it is something else."""
    given = argument.value
    if not isinstance(given, tuple):
        return ()
    return tuple(term for term in given if isinstance(term, _Term))


def _meant(name: str) -> str:
    """The known release that was probably meant, as a question; or some names, if none is near."""
    folded = {known.lower(): known for known in sorted(RELEASES) if known != "Repeated"}
    near = get_close_matches(name[:40].lower(), folded, n=1)
    if near:
        return f" (did you mean {folded[near[0]]}?)"
    alike = get_close_matches(name[:40].lower(), folded, n=_MOST_NAMED, cutoff=0.0)
    listed = ", ".join(folded[each] for each in alike)
    return f"; of {len(folded)} kinds these are the most similar: {listed}"


def _fail(text: str, column: int, problem: str) -> NoReturn:
    raise InvalidExpression(text, column, problem)


class _Parser:
    """Recursive descent, one token ahead."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise InvalidParameter("expression", text, "text")
        self.text = text
        if len(text) > _LONGEST:
            _fail(text, _LONGEST, f"longer than {_LONGEST} characters; give several expressions")
        self.tokens = self._tokens()
        self.place = 0

    def _tokens(self) -> list[_Token]:
        tokens, place, end = [], 0, len(self.text.rstrip())
        while place < end:
            match = _TOKEN.match(self.text, place)
            if match is None:
                column = place + 1 + len(self.text[place:]) - len(self.text[place:].lstrip())
                _fail(self.text, column, f"unexpected {self.text[column - 1]!r}")
            kind = match.lastgroup or ""
            tokens.append(_Token(kind, match[kind], match.start(kind) + 1))
            place = match.end()
        tokens.append(_Token("end", "end of expression", end + 1))
        return tokens

    @property
    def ahead(self) -> _Token:
        return self.tokens[self.place]

    def _take(self) -> _Token:
        token = self.ahead
        self.place += 1
        return token

    def _expect(self, text: str, *, otherwise: str = "") -> _Token:
        if self.ahead.text != text:
            wanted = f"expected {text!r}{otherwise}"
            _fail(self.text, self.ahead.column, f"{wanted}, found {self._found()}")
        return self._take()

    def _found(self) -> str:
        return "the end" if self.ahead.kind == "end" else repr(self.ahead.text)

    def templates(self) -> tuple[Template, ...]:
        found = [Template(self.text, *term) for term in self._terms(0)]
        if self.ahead.kind != "end":
            _fail(self.text, self.ahead.column, f"unexpected {self._found()} after the release")
        self._at_most_one_unknown()
        return tuple(found)

    def _terms(self, depth: int) -> tuple[_Term, ...]:
        found = [self._term(depth)]
        while self.ahead.text == "+":
            self._take()
            found.append(self._term(depth))
        return tuple(found)

    def _term(self, depth: int) -> _Term:
        count, column = 1, 1
        if self.ahead.kind == "number":
            count, column = self._count()
            self._expect("*")
            call = self._call(depth)
        else:
            call = self._call(depth)
            if self.ahead.text == "*":
                self._take()
                count, column = self._count()
        if count < 1:
            _fail(self.text, column, f"count must be a positive whole number, got {count}")
        return _Term(call, count, column)

    def _at_most_one_unknown(self) -> None:
        unknowns = [token.column for token in self.tokens if token.text == "?"]
        if len(unknowns) > 1:
            _fail(self.text, unknowns[1], "only one '?' can be found at a time")

    def _count(self) -> tuple[int, int]:
        token = self._take()
        number = _number(token) if token.kind == "number" else None
        if not isinstance(number, int):
            given = "the end" if token.kind == "end" else repr(token.text)
            hint = "; 'quaestor count' finds the largest one" if token.text == "?" else ""
            _fail(self.text, token.column, f"count must be a whole number, got {given}{hint}")
        return number, token.column

    def _call(self, depth: int) -> _Call:
        name = self._take()
        if name.kind != "name":
            _fail(
                self.text,
                name.column,
                f"expected a release such as PureDP(epsilon=0.1), "
                f"found {'the end' if name.kind == 'end' else repr(name.text)}",
            )
        if name.text not in RELEASES:
            _fail(
                self.text,
                name.column,
                f"unknown release {name.text[:24]!r}{_meant(name.text)}",
            )
        if depth > _DEEPEST:
            _fail(self.text, name.column, "nested too deeply")
        self._expect("(")
        arguments: list[_Argument] = []
        while self.ahead.text != ")":
            if arguments:
                self._expect(",", otherwise=" or ')'")
            arguments.append(self._argument(name.text, depth))
            if any(argument.field == arguments[-1].field for argument in arguments[:-1]):
                _fail(self.text, arguments[-1].column, f"{arguments[-1].field} is given twice")
        self._take()
        return _Call(name.text, name.column, tuple(arguments))

    def _argument(self, release: str, depth: int) -> _Argument:
        field = self._take()
        if field.kind != "name":
            own = ", ".join(f"{each.name}=..." for each in fields(RELEASES[release]))  # type: ignore[arg-type]
            _fail(self.text, field.column, f"parameters are named: {release}({own})")
        self._expect("=")
        ahead = self.ahead
        if ahead.kind == "number" and self.tokens[self.place + 1].text != "*":
            return _Argument(field.text, field.column, _number(self._take()))
        if ahead.text == "?":
            self._take()
            return _Argument(field.text, ahead.column, _Unknown())
        if ahead.text == "[":
            return _Argument(field.text, field.column, self._list())
        if ahead.text in _TRUTHS:
            return _Argument(field.text, field.column, _TRUTHS[self._take().text])
        if ahead.kind == "number" or (
            ahead.kind == "name" and self.tokens[self.place + 1].text == "("
        ):
            return _Argument(field.text, field.column, self._terms(depth + 1))
        if ahead.kind == "name" and _is_text(release, field.text):
            return _Argument(field.text, field.column, self._take().text)
        _fail(self.text, ahead.column, f"expected a number for {field.text}, found {self._found()}")

    def _list(self, *, within: bool = False) -> _List:
        self._expect("[")
        entries: list[float | int | _List] = []
        while self.ahead.text != "]":
            if entries:
                self._expect(",")
            if self.ahead.text == "[" and not within:
                entries.append(self._list(within=True))
                continue
            if self.ahead.kind != "number":
                _fail(self.text, self.ahead.column, f"expected a number, found {self._found()}")
            entries.append(_number(self._take()))
        self._take()
        return tuple(entries)


def _is_text(release: str, parameter: str) -> bool:
    """Whether this parameter of a release is a word."""
    known = fields(RELEASES[release])  # type: ignore[arg-type]  # dataclasses all
    return any(field.name == parameter and field.type == "str" for field in known)


def _number(token: _Token) -> float | int:
    try:
        return int(token.text)
    except ValueError:  # not whole, or of thousands of digits
        return float(token.text.replace("_", ""))
