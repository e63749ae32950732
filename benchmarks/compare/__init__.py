"""How long Compare takes on a lab of 2,000 runs."""
