"""Exact totals of an account, and what they say at every time."""
