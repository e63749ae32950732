"""Keeping an installation healthy: backup and restore, the doctor, the health check."""
