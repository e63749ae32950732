"""What the clients of a spec hold, without running it. Numpy only: the web server draws these."""
