"""The queue: which run is next, the workers that take them, and the leases under which they compute."""
