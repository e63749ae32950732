"""What changes the queue: claims, leases, workers, cancelling and retrying runs, and the scheduler."""
