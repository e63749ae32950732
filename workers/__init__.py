"""Compute: specs, catalog, engine and its components. Nothing below `tasks.py` knows Django."""

from workers.quiet import hush

hush()
