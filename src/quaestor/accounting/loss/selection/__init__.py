"""What the best of a random number of runs tells: the number of runs, and the bound."""
