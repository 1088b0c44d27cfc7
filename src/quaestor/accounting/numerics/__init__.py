"""Certified numbers: intervals, balls, tails, and floats rounded to the safe side."""
