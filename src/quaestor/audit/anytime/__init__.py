"""Audits that may stop at any time: bets against a claim, and what they make."""
