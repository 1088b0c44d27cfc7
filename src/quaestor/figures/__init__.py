"""Pictures, with matplotlib (the ``plot`` extra), imported only when something is drawn."""
