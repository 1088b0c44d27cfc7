"""Neighbours played with the same randomness: what differs is due to the data alone."""
