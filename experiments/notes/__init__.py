"""What people write down about studies and runs."""
