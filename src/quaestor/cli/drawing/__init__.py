"""How answers, accounts, tables and numbers look in a terminal."""
