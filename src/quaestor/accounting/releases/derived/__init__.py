"""Releases made from others or from one noise: on samples, as mixtures, by curves, in groups."""
