"""From names and expressions to a query: what SQL and the builder share."""
