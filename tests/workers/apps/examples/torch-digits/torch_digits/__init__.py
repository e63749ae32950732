"""torch-digits: a Flower app."""
