"""The clients' side of a run: local training on parameters that are stacked over clients."""
