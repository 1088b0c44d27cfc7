"""The figures of the papers, drawn from the accountant's own numbers."""
