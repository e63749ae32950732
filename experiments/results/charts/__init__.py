"""Charts and tables of one run: its clients, its costs, its findings."""
