"""What is read of studies: lists, progress, cells, how fast their runs were, and what deleting one takes away."""
