r"""In which order what a unit has counts, where it has too much: by a number or by an MD5.

The order is a function of the unit and the cell (or value) alone, fixed for good, and the same on
all engines: so nothing that one unit has changes what is kept of another, and a prepared copy keeps
what its server keeps. It is not secret, and need not be: whatever the order is, a unit keeps
no more than was priced (``docs/decisions/0009-the-order-is-a-number.md``).

Whole numbers are mixed by whole numbers, which costs a tenth of an MD5. With the digits of all
numbers in base :math:`2^{22}`, low ones first, as coefficients of a polynomial, the mark is the
product of its values at three points, modulo the prime :math:`P = 2^{31} - 1`. No 64-bit number
overflows on the way: a digit is less than :math:`B = 2^{22}` either way, and a power less than P,
so that t terms add up to less than :math:`tBP < 2^{61}` either way; to which just that is added,
so that remainders are not negative; and products of two remainders are less than :math:`2^{62}`.
Marks may be equal, and ties are broken by the cell itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from quaestor.curator.scalars.scalar import SQL

__all__ = ["mark_of", "md5_of"]

_PRIME: Final = 2**31 - 1
_POINTS: Final = (314_159_265, 358_979_323, 846_264_338)  # digits of pi
_BASE: Final = 2**22
_NULL: Final = 2**20
"""In place of the highest digit, which is at most 2**19 either way."""
_MOST_PARTS: Final = 64
_NEVER_NULL: Final = {"u", "g"}
_DECIMALS: Final = 1e15
_FITS: Final = 9e18


def mark_of(sql: SQL, parts: Sequence[str], *, whole: bool, reals: Collection[str] = ()) -> str:
    """What values are ordered by: a number of whole numbers (at most 64 bits), or an MD5 of any.

    Of the parts only ``u`` and ``g``, a unit and a cell's number of few digits, are never NULL.
    """
    if not whole or len(parts) > _MOST_PARTS:
        return md5_of(sql, parts, reals)
    factors = [_value_at(sql, parts, point) for point in _POINTS]
    mark = factors[0]
    for factor in factors[1:]:
        mark = f"(({mark} * {factor}) % {_PRIME})"
    return mark


def _value_at(sql: SQL, parts: Sequence[str], point: int) -> str:
    """The value of the polynomial at a point, from 0 to below the prime."""
    powers = [pow(point, at, _PRIME) for at in range(1, 3 * len(parts) + 1)]
    terms = [_terms(sql, part, powers[3 * at : 3 * at + 3]) for at, part in enumerate(parts)]
    positive = len(powers) * _BASE * _PRIME
    return f"(({' + '.join([*terms, str(positive)])}) % {_PRIME})"


def _terms(sql: SQL, part: str, powers: Sequence[int]) -> str:
    """The digits of one number, each times a power; engines round quotients towards zero."""
    value, quotient = f"CAST({part} AS BIGINT)", sql.dialect.quotient
    if part == "g":  # less than 100,000
        return f"{value} * {powers[0]}"
    digits = (
        f"({value} % {_BASE})",
        f"({quotient.format(value, _BASE)} % {_BASE})",
        quotient.format(value, _BASE**2),
    )
    added = " + ".join(f"{digit} * {power}" for digit, power in zip(digits, powers, strict=True))
    return added if part in _NEVER_NULL else f"COALESCE({added}, {_NULL * powers[2]})"


def md5_of(sql: SQL, parts: Sequence[str], reals: Collection[str] = ()) -> str:
    """An MD5 of values, NULL among them, in hexadecimal digits that sort alike everywhere.

    ``reals`` are those of them that are floats. DuckDB and PostgreSQL print a float of less than
    1e15 with decimals alike; others are printed as the whole number below, where 64 bits hold it.
    """
    texts = (f"COALESCE({_printed(sql, part, part in reals)} || ';', '-;')" for part in parts)
    return sql.dialect.bytewise.format(f"md5({' || '.join(texts)})")


def _printed(sql: SQL, value: str, real: bool) -> str:  # noqa: FBT001
    text = f"CAST({value} AS {sql.dialect.text})"
    if not real:
        return text
    below = f"floor({value})"
    decimals = f"abs({value}) < {sql.real(_DECIMALS)} AND {value} <> {below}"
    whole = f"CAST(CAST({below} AS BIGINT) AS {sql.dialect.text})"
    fits = f"abs({value}) < {sql.real(_FITS)}"
    return f"CASE WHEN {decimals} THEN {text} WHEN {fits} THEN {whole} ELSE {text} END"
