"""The curator: tables stay where they are, analysts ask, a ledger pays, answers carry noise."""
