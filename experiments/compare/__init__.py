"""Comparisons: what was selected, the runs and numbers behind it, and the charts and tables made of them."""
