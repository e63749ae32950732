"""numpy-global-random: a Flower app."""
