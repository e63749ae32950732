"""Measurements of the engine and the platform, and tests that break both on purpose; each is a command of its own."""
