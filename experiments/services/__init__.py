"""Every write. Keyword-only functions named `<entity>_<action>`; what a person may not do raises a `TributaryError`."""
