"""People, their rights, API tokens and share links, and the audit log."""
