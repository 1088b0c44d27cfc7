"""Other tools that answer questions of tables. Each file runs in an environment of its own."""
