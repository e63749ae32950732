"""client-state: a Flower app."""
