"""numpy-least-squares: a Flower app."""
