"""What people come back to: pinned studies, and starred cells that others are compared with."""
