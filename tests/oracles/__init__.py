"""Slow, obvious references at sixty digits, which share no code with the package."""
