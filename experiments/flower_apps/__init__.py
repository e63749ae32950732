"""Flower apps of the lab: which there are, what state they are in, adding and removing them."""
