"""Losses of batches that everybody falls into at random."""
