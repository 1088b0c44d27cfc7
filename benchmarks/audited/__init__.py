"""Whom the auditor is let loose on: other libraries, a DP-SGD, and the curator."""
