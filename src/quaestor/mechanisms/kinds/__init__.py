"""Mechanisms, one kind a file."""
