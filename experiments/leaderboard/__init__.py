"""Which method is best on a data set: the best cell of every strategy, over all studies of the lab."""
