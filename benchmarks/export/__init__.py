"""How fast exports leave a full lab, and how much memory that takes."""
