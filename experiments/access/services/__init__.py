"""What changes accounts, tokens and share links, and what it takes to be allowed to."""
