"""What is written of runs: their curves."""
