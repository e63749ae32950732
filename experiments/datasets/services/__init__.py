"""Jobs that bring data sets here, the processes that carry them out, and uploaded files."""
