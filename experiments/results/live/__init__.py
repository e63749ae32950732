"""From a commit to the browser: PostgreSQL notifies, one listener per process fans out to the open streams."""
