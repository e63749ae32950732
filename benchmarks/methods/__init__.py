"""What defences, privacy, compression and corrected drift give: docs/methods.md and its pictures."""
