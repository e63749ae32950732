"""The page of one run, its charts and its files."""
