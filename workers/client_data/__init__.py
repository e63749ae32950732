"""How data is distributed over the clients of a spec, without running it. Numpy only: the web server draws these."""
