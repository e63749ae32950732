"""What the platform adds to the engine: launching, the queue, claims, rounds."""
