"""Questions as values: from names to a query, its fingerprint and its price."""
