"""What people wait for: whole grids through the platform, beside a plain script and the engine alone."""
