"""strategy-subclass: a Flower app."""
