"""The documentation, and what builds it; some packages install a ``docs`` too."""
