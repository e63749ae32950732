"""The database: its address, and how Django speaks to it."""
