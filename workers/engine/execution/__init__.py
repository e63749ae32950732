"""Who computes a cohort: threads of this process, or the nodes of Flower's Ray runtime."""
