"""Files that more than one machine needs go through a store; by default it is the home itself, and nothing moves."""
