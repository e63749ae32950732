"""Breaks a running platform on purpose, again and again, and compares what it has stored with undisturbed runs."""
