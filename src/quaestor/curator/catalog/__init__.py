"""The catalog: what the data owner has declared."""
