"""Neighbours that are searched for, in spaces that are described."""
