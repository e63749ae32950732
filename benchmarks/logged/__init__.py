"""What logging from a script costs, beside other trackers' clients, and what an absent server does to it."""
