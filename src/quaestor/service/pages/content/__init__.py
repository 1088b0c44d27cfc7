"""What pages are filled with: fields of forms, prices, budgets, charts and amounts as shown."""
