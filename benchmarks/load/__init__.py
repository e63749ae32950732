"""A full lab under load: many people's pages beside workers that write."""
