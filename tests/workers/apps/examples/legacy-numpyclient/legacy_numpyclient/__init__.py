"""legacy-numpyclient: a Flower app."""
