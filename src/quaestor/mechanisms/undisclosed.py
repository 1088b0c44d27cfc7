"""What an error may say of a value that may be private: its kind, and nothing else."""

from __future__ import annotations

__all__ = ["Undisclosed"]


class Undisclosed:
    """Stands in an error for the value that was refused.

    >>> Undisclosed(120.5)
    a float that is not shown
    """

    def __init__(self, value: object) -> None:
        self.kind = type(value).__name__

    def __repr__(self) -> str:
        """The kind of the value."""
        return f"{'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind} that is not shown"
