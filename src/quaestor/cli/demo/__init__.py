"""The demo: a liver study, and the story told on it."""
