"""Laws of privacy losses, one kind a file."""
