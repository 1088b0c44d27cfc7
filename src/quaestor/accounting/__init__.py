"""The mathematics: pure, deterministic, no input or output, no randomness."""
