"""Reports about a deployment, from a ledger and a catalog."""
