"""A study as one file, with everything that belongs to it, and back into this lab or another."""
