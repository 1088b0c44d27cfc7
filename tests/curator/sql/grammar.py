"""Statements at random: from a grammar of what may be asked, and broken in all ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

__all__ = ["Grammar"]

_COLUMNS = (
    "patient", "age", "sex", "city", "cost", "change", "weight", "smoker", "day", "code",
    '"Ward No"', "v.age", "nothing", "visits.cost", "c.region", "l.value",
)  # fmt: skip
_CONSTANTS = (
    "0", "1", "-3", "40", "2.5", "1e3", "1e-300", "1e300", "'F'", "'x''y'", "'2020-01-01'", "NULL",
    "TRUE", "FALSE", "DATE '2020-02-29'", "DATE '2020-02-30'", "''", "99999999999999999999",
)  # fmt: skip
_ONE = (
    "ABS", "SIGN", "FLOOR", "CEIL", "ROUND", "SQRT", "LN", "LOG10", "EXP", "UPPER", "LOWER",
    "LENGTH", "YEAR", "MONTH", "DAY", "QUARTER", "DAYOFWEEK", "HASH", "MIN", "SUM", "TRIM", "ROW",
    "LTRIM", "RTRIM", "TRUNC",
)  # fmt: skip
_AGGREGATES = (
    "COUNT(*)", "COUNT({})", "SUM({})", "AVG({})", "VARIANCE({})", "COUNT(DISTINCT age)",
    "STDDEV({})", "MEDIAN({})", "QUANTILE({}, 0.9)", "COUNT_IF({})", "COUNT(DISTINCT patient)",
    "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY {})", "COUNT(*) FILTER (WHERE {})",
    "SUM({}) FILTER (WHERE smoker)", "APPROX_QUANTILE({}, 0.5)", "CORR({}, cost)",
    "REGR_SLOPE(age, {})",
)  # fmt: skip
_WILD = (*_AGGREGATES, "MIN({})", "SUM({}) OVER ()", "{}", "COUNT(DISTINCT {})", "SUM(AVG({}))")
_TYPES = ("INTEGER", "DOUBLE", "TEXT", "BOOLEAN", "DATE", "DECIMAL(4, 2)", "INT[]", "JSON")
_WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "WITH", "UNION", "CASE",
    "WHEN", "END", "(", ")", ",", ".", "*", "::", "->", "[", "]", "{", "}", ";", "'", '"', "--",
    "/*", "*/", "$$", "?", "@", "~", "\\", "AS", "ON", "JOIN", "DISTINCT", "INTERVAL", "ROW(",
    "STRUCT(", "LATERAL", "PIVOT", "EXISTS", "\t", "\n", "\x07", "é", "\U0001f600", "x'0'", "0x1F",
)  # fmt: skip


class Grammar:
    """One random source, and what it writes."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def pick(self, *options: str) -> str:
        """One of the options."""
        return self.chance.choice(options)

    def value(self, depth: int = 3) -> str:
        """Anything that might have a value."""
        if depth <= 0 or self.chance.random() < 0.3:
            return self.pick(*_COLUMNS, *_CONSTANTS) if self.chance.random() < 0.5 else "age"
        a, b, c = (self.value(depth - 1) for _ in range(3))
        return self.pick(
            f"{a} {self.pick('+', '-', '*', '/', '%', '//', '^')} {b}",
            f"({a})",
            f"-{a}",
            f"{self.pick(*_ONE)}({a})",
            f"CLAMP({a}, 0, 100)",
            f"{self.pick('LEAST', 'GREATEST', 'COALESCE', 'NULLIF')}({a}, {b})",
            f"CASE WHEN {self.condition(depth - 1)} THEN {a} ELSE {b} END",
            f"CASE {a} WHEN {b} THEN {c} END",
            f"CAST({a} AS {self.pick(*_TYPES)})",
            f"{a}::{self.pick(*_TYPES)}",
            f"ROUND({a}, {self.pick('2', '-1', '99', 'age')})",
            f"POW({a}, {self.pick('2', '8', '0.5')})",
            f"SUBSTRING({a}, 1, 2)",
            f"DATE_DIFF('{self.pick('day', 'week', 'month', 'hour')}', {a}, {b})",
            f"{a} {self.pick('+', '-')} INTERVAL {self.pick('3', '(age)')} DAY",
            f"DATE_TRUNC('{self.pick('week', 'quarter')}', {a})",
            f"LEFT({a}, 2)",
            f"{a} || {b}",
            f"CONCAT({a}, {b})",
            f"WIDTH_BUCKET({a}, 0, 100, 10)",
            f"EXTRACT({self.pick('YEAR', 'EPOCH', 'DOW')} FROM {a})",
            f"IF({self.condition(depth - 1)}, {a}, {b})",
        )

    def condition(self, depth: int = 2) -> str:
        """Anything that might be true."""
        if depth <= 0:
            return self.pick("smoker", "age > 40", "sex = 'F'", "age", "city LIKE 'R%'")
        a, b = self.value(depth - 1), self.value(depth - 1)
        return self.pick(
            f"{a} {self.pick('=', '<>', '<', '<=', '>', '>=', '==')} {b}",
            f"{a} BETWEEN {b} AND 50",
            f"{a} {self.pick('IN', 'NOT IN')} (1, 2, {self.pick(*_CONSTANTS)})",
            f"{a} IS {self.pick('NULL', 'NOT NULL', 'TRUE')}",
            f"{a} {self.pick('LIKE', 'NOT LIKE', 'ILIKE')} 'a%'",
            f"{self.condition(depth - 1)} {self.pick('AND', 'OR')} {self.condition(depth - 1)}",
            f"NOT {self.condition(depth - 1)}",
            f"({self.condition(depth - 1)})",
            "age IN (SELECT age FROM labs)" if self.chance.random() < 0.1 else "age > 3",
        )

    def number(self, depth: int = 2) -> str:
        """A number with bounds, most of the time."""
        if self.chance.random() < 0.03:
            return self.value(depth)
        if depth <= 0 or self.chance.random() < 0.3:
            return self.pick("age", "cost", "change", '"Ward No"', "MONTH(day)", "3", "0.5")
        a, b = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            f"{a} {self.pick('+', '-', '*')} {b}",
            f"({a}) / {self.pick('2', '7.5', '-3')}",
            f"CLAMP({a}, -50, {self.pick('10', '99.5')})",
            f"{self.pick('ABS', 'SIGN', 'FLOOR', 'CEIL', 'ROUND')}({a})",
            f"{self.pick('LEAST', 'GREATEST', 'COALESCE', 'NULLIF')}({a}, {b})",
            f"CASE WHEN {self.truth(depth - 1)} THEN {a} ELSE {b} END",
            f"SQRT(ABS({a}))",
            f"CAST({a} AS {self.pick('INTEGER', 'DOUBLE')})",
            f"POW({a}, 2)",
        )

    def truth(self, depth: int = 2) -> str:
        """A condition of the right kinds, most of the time."""
        if self.chance.random() < 0.03:
            return self.condition(depth)
        if depth <= 0 or self.chance.random() < 0.2:
            return self.pick(
                "smoker", "sex = 'F'", "city LIKE 'R%'", "day > '2020-01-01'", "age > 3"
            )
        a, b = self.number(depth - 1), self.number(depth - 1)
        c, d = self.truth(depth - 1), self.truth(depth - 1)
        return self.pick(
            f"{a} {self.pick('=', '<>', '<', '<=', '>', '>=')} {b}",
            f"{a} BETWEEN {b} AND 50",
            f"{a} {self.pick('IN', 'NOT IN')} (1, 2, -7)",
            f"{a} IS {self.pick('NULL', 'NOT NULL')}",
            f"({c} {self.pick('AND', 'OR')} {d})",
            f"{c} AND {d}",
            f"NOT {c}",
        )

    def key(self) -> str:
        """Something to group by."""
        return self.pick(
            "sex", "city", "smoker", "age", "1", "day", "YEAR(day)", "MONTH(day)",
            f"FLOOR({self.number(1)})", self.truth(1), "LOWER(city)", "age % 5",
            f"CASE WHEN {self.truth(1)} THEN 'a' ELSE 'b' END", "patient", "cost",
        )  # fmt: skip

    def output(self) -> str:
        """An entry of the SELECT list."""
        made = self._aggregate()
        if self.chance.random() < 0.3:
            made = f"{made} {self.pick('+', '/', '>')} {self._aggregate()}"
        return made + self.pick("", "", " AS n", " AS m", ' AS "out put"')

    def _aggregate(self) -> str:
        if self.chance.random() < 0.1:
            return self.pick(*_WILD).format(self.value(2))
        made = self.pick(*_AGGREGATES)
        conditional = "{}" in made and ("WHERE {" in made or "_IF" in made)
        return made.format(self.truth(2) if conditional else self.number(2))

    def source(self) -> str:
        """What stands after FROM."""
        if self.chance.random() < 0.6:
            return self.pick("visits", "visits AS v", "(SELECT * FROM visits WHERE age > 9) AS v")
        inner = f"(SELECT {self.pick('*', 'age, sex', 'patient, cost AS age')} FROM visits)"
        return self.pick(
            "labs", "cities", "staff", "secrets", inner, f"{inner} AS v",
            "visits v JOIN cities c ON v.city = c.city", "visits v LEFT JOIN cities c USING (city)",
            "visits v JOIN labs l USING (patient)", "visits v JOIN labs l ON v.age = l.value",
            "visits, labs", "visits v JOIN staff USING (city)",
            "(SELECT sex, COUNT(*) AS age FROM visits GROUP BY sex) AS v",
        )  # fmt: skip

    def statement(self) -> str:
        """A whole question."""
        keys = [self.key() for _ in range(self.chance.randint(0, 2))]
        outputs = [self.output() for _ in range(self.chance.randint(1, 3))]
        shown = [key for key in keys if key != "1"]
        text = f"SELECT {', '.join(shown + outputs)} FROM {self.source()}"
        if self.chance.random() < 0.5:
            text += f" WHERE {self.truth()}"
        if keys:
            text += f" GROUP BY {', '.join(keys)}"
        if self.chance.random() < 0.2:
            text += f" HAVING {self.pick('COUNT(*) > 10', 'n > 3', 'AVG(age) > 1')}"
        if self.chance.random() < 0.3:
            text += f" ORDER BY {self.pick('1', 'n', 'COUNT(*)', 'age')}{self.pick('', ' DESC')}"
        if self.chance.random() < 0.3:
            text += f" LIMIT {self.pick('1', '10', '0', '-1', 'x')}"
        return text

    def broken(self) -> str:
        """A question with something taken out, put in, or put elsewhere."""
        text = self.statement()
        for _ in range(self.chance.randint(1, 4)):
            place, other = (self.chance.randrange(len(text) + 1) for _ in range(2))
            low, high = min(place, other), max(place, other)
            put = self.pick(
                "",
                self.pick(*_WORDS),
                text[low:high],
                self.pick(*_WORDS) * self.chance.randint(2, 40),
                chr(self.chance.randrange(0x110000)),
            )
            text = text[:place] + put + text[place:] if put else text[:low] + text[high:]
        return text[:3_000]

    def noise(self) -> str:
        """Words in any order."""
        return "SELECT " + " ".join(self.pick(*_WORDS, *_COLUMNS) for _ in range(20))
