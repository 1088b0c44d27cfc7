"""Pictures of plain numbers, with matplotlib (the ``plot`` extra), imported when one is drawn."""
