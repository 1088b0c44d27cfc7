"""Mechanisms, one kind a file; those that a description stands for are found here by themselves."""
