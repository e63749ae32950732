"""custom-mods: a Flower app."""
