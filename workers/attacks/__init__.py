"""What malicious clients do: poison their data, or the models they send."""
