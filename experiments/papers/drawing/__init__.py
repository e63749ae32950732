"""Figures as vector files, by matplotlib in a process of its own: a second and 70 MB that no page has to pay."""
