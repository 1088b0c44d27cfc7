"""Stores: SQLite and PostgreSQL, behind one small interface of transactions and statements."""
