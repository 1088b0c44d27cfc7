"""The language of expressions: what may be computed of a row, and what it means."""
