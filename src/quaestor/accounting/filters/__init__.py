"""Privacy filters: promises that hold when analysts choose everything as they go."""
