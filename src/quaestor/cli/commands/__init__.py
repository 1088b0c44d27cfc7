"""The commands, one family a file."""
