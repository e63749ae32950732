"""The faults, grouped by what breaks."""
