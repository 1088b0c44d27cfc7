"""Sums of privacy losses, and certified answers about them."""
