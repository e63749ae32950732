"""Backups of the database and the files of runs in one archive, and restoring them."""
