"""Answers, and the forms in which they are handed out."""
