"""How long home, the table of studies and the leaderboard take in a lab of sixty studies."""
