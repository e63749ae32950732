"""actions-and-lifespans: a Flower app."""
