"""Results that were measured elsewhere, as logged runs: looked at first, brought in once, and taken back."""
