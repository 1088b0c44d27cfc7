"""What is known of an expression before any data are touched."""
