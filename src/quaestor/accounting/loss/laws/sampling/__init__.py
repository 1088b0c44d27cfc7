"""Laws of losses when people are in the data only by chance, and how they are computed."""
