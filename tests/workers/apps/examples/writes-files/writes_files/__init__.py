"""writes-files: a Flower app."""
