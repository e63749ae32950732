"""Reads for Compare: which runs, and what they measured, aggregated in SQL over every stored value."""
