"""One module for each fault."""
