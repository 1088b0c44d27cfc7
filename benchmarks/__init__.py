"""Speed and tightness beside peers, measured in one run: ``make benchmark``."""
