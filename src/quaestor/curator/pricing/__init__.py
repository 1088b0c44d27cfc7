"""What a query needs to be measured, how much noise that takes, and what it costs."""
