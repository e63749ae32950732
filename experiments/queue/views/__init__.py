"""The pages of the queue and of the workers."""
