"""What is read of runs: filters, clients, costs, files, and summaries over seeds."""
