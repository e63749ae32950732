"""The documents of `docs/` as pages, searchable, and the words they define."""
