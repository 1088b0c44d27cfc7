"""What accounts promise to keep to, and what they check."""
