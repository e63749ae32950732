"""Done runs as small files: taken from a lab, merged, and brought back into another without being computed again."""
