"""Data sets: what is here, and the jobs that fetch, import and verify more."""
