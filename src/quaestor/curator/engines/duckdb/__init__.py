"""DuckDB: its own files, and Parquet and CSV files."""
