"""People, what they used, and what they did."""
