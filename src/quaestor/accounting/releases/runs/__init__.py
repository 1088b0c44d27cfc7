"""Releases of whole runs: several together, the best of many, and samples of them."""
