"""Work in the background that is no run: deletions, data sets, what clients hold, how long a model takes."""
