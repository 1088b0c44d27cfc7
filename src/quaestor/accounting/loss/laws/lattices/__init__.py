"""Losses moved to a lattice: a law that tells a little less, and one that tells a little more."""
