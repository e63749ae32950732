"""Runs and what they measured: numbers, clients, costs, findings, files, and rounds as they are committed."""
