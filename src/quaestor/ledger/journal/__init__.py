"""What happened: chained events, entries, their export and verification."""
