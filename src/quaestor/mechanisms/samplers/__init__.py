"""Exact draws: randomness, inversion, noise, choices."""
