"""The engine against Flower's Ray backend, pfl and a plain loop."""
