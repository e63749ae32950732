"""Logging in and passwords, a person's own page, everybody's accounts, and the audit log."""
