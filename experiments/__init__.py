"""Studies, runs, metrics and people: pages, charts and REST."""
