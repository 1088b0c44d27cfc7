"""Row-wise scalar expressions: trees over a closed list of functions, written as SQL.

Trusted for two things, both tested: every function is total (no value of a row makes an engine
fail), and what is written looks at one row only (no sub-query, window or aggregate). It is not
trusted for ranges: whatever an expression gives is clamped in the kernel's outermost statement.
"""
