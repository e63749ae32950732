"""One file for each table that can be exported."""
