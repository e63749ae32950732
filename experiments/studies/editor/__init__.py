"""A study while it is written: its form, its YAML, what goes together, and how it differs from what it started as."""
