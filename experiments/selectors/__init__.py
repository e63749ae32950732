"""Reads: typed, keyword-only, and computed by PostgreSQL over all rows."""
