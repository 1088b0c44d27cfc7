"""The ledger: accounts whose budgets survive crashes, races and clever analysts."""
