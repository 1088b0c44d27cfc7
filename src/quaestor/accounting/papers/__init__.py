"""What the papers' formulas say, beside what is exact."""
