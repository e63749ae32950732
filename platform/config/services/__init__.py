"""Embedded PostgreSQL and Redis: real servers from Python packages, private to this machine and this home."""
