"""What comparisons read: the runs and cells selected, their values, their clients, and saved views."""
