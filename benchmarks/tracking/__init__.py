"""Writing a round and reading 200 curves, beside MLflow's tracking server on the same PostgreSQL."""
