"""What the pages of all features share: helpers for requests, and template tags."""
