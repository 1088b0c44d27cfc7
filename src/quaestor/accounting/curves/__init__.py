"""Curves of a privacy guarantee: profiles, what is best or worst of several, trade-offs."""
