"""federated-analytics: a Flower app."""
