r"""What is over a limit, and what is not: most units are within limits, and need no ranking.

Where the engine reads a common table once, rows are held in one, and those of whoever is over the
limit are told from the others there. Both parts are of the same rows, whatever happens to the table
meanwhile: no row is in both, and none is missing.

Where a unit has too much, what it has counts in an order: by a number, or by an MD5.

The order is a function of the unit and the cell (or value) alone, fixed for good, and the same on
all engines: so nothing that one unit has changes what is kept of another, and a prepared copy keeps
what its server keeps. It is not secret, and need not be: whatever the order is, a unit keeps
no more than was priced (``docs/decisions/0009-the-order-is-a-number.md``).

Whole numbers are mixed by whole numbers, which costs a tenth of an MD5. With the digits of all
numbers in base :math:`2^{22}`, low ones first, as coefficients of a polynomial, the mark is the
product of its values at four points, modulo the prime :math:`P = 2^{31} - 1`. No 64-bit number
overflows on the way: a digit is less than :math:`B = 2^{22}` either way, and a power less than P,
so that t terms add up to less than :math:`tBP < 2^{61}` either way; to which just that is added,
so that remainders are not negative; and products of two remainders are less than :math:`2^{62}`.
Marks may be equal, and ties are broken by the cell itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from quaestor.curator.scalars.scalar import SQL

__all__ = ["Parted", "few_of_each", "mark_of", "md5_of"]

_PRIME: Final = 2**31 - 1
_POINTS: Final = (314_159_265, 358_979_323, 846_264_338, 327_950_288)  # digits of pi
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """Rows held in a common table, in two parts: of those over a limit, and of the others.

    ``by`` are the columns that say whose limit it is: the unit and its cell. The unit and a cell's
    number are never NULL; codes of private groups may be, and NULL is a group like others. Who is
    over the limit is a statement that reads ``held``, or one of the ``more`` tables, which read it;
    it returns nobody twice. So the parts are joined to it: DuckDB runs a correlated ``EXISTS`` by
    counting the different values of all rows first, which takes longer than the whole rest.
    """

    table: str
    rows: str
    by: Sequence[str]
    over_limit: str
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> str:
        """The common tables, to be written before the statement that reads the parts."""
        tables = {"held": self.rows, **self.more, "over_limit": self.over_limit}
        return f"WITH {', '.join(self.table.format(*each) for each in tables.items())}"

    def within(self, names: Sequence[str], table: str = "held") -> str:
        """The rows of those who are not over the limit."""
        return f"{self._joined('LEFT JOIN', names, table)} WHERE o.over_u IS NULL"

    def over(self, names: Sequence[str], table: str = "held") -> str:
        """The rows of those who are."""
        return self._joined("JOIN", names, table)

    def _joined(self, join: str, names: Sequence[str], table: str) -> str:
        """Columns of a table, beside who is over the limit under names that no column has."""
        renamed = ", ".join(f"{of} AS over_{of}" for of in self.by)
        same = " AND ".join(
            f"o.over_{of} = h.{of}"
            if of in _NEVER_NULL
            else f"o.over_{of} IS NOT DISTINCT FROM h.{of}"
            for of in self.by
        )
        return (
            f"SELECT {', '.join(names)} FROM {table} h "  # noqa: S608
            f"{join} (SELECT {renamed} FROM over_limit) o ON {same}"
        )


def few_of_each(sql: SQL, rows: str, names: list[str], *, rank: str, most: int) -> str:
    """Rows of each unit ``u`` whose place by ``rank``, a window of it, is at most ``most``.

    Places are at most as many as a unit's rows, so that units with no more rows than ``most`` keep
    all of them. Where the engine reads a common table once, only the rows of the others are ranked:
    ranking (a mark and a sort) costs far more than finding out who they are. The rows that are kept
    are the same, whoever is ranked.
    """
    listed, held = ", ".join(names), sql.dialect.common_table

    def ranked(source: str) -> str:
        placed = f"SELECT {listed}, {rank} AS place FROM ({source}) w"  # noqa: S608
        return f"SELECT {listed} FROM ({placed}) k WHERE place <= {int(most)}"  # noqa: S608

    if held is None:
        return ranked(rows)
    over = f"SELECT u FROM held GROUP BY u HAVING COUNT(*) > {int(most)}"  # noqa: S608
    parted = Parted(table=held, rows=rows, by=["u"], over_limit=over)
    return f"{parted.tables} {parted.within(names)} UNION ALL {ranked(parted.over(names))}"
