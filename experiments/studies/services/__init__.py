"""What changes studies: launching with its checks and estimates, and everything that is done to a launched one."""
