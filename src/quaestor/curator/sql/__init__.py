"""Questions in SQL: what may be asked, and what it means.

sqlglot parses; then every node of its tree has a rule here or is refused, with the reason and,
where there is one, the allowed way to write it. No data are touched.
"""

from __future__ import annotations

from quaestor.curator.sql.select_statement import parse, parse_question

__all__ = ["parse", "parse_question"]
